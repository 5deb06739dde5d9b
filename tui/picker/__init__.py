"""Choose a session: all logs of this machine, or of some paths."""
