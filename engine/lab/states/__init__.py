"""What one attention layer keeps of the tokens it has seen: every kind behind one interface, each in its own file."""
