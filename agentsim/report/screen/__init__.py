"""Reports on a terminal, one page a file."""
