"""A benchmark of verdicts: sessions lived in a world of documented rules and hidden facts, whose causes are known.

The world shares no code with what is measured: prompts, keys, entries and billing are written anew from the providers'
published rules. ``python -m benchmarks.verdicts`` lives the sessions, writes them as logs, has them judged and scores
the verdicts against the truth, which is kept apart.
"""
