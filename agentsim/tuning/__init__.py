"""Settings chosen from recorded sessions, written, and held against the bills that follow."""
