"""Real traffic, passed on to a provider and recorded."""
