"""Beside a harness while it works: a status line, hooks that warn in time, and their installation.

The status line and the hooks are started anew for each call, so they import nothing but a few modules of the standard
library, and the rest of agentsim only where a price is asked for the first time on a day.
"""
