"""The terminal interface: a session picker, and the trace of a session row by row with each lost cache explained."""
