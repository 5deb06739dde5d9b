"""Can it be trusted? Verdicts against the provider's own, rules fitted to logs, rules measured, sessions sent again."""
