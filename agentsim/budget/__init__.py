"""Budgets for recorded sessions: declared in a file, judged on the bill of each session, compared with a baseline.

A budget is held, broken, or could not be judged. The last is a failure of its own: evidence that is missing never makes
a pass.
"""
