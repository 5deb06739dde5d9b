"""Real harnesses run through the same acts against an emulated provider: what each does to its prefix."""
