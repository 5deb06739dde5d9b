"""What each layer of a model keeps for a session: read from the head of its file, counted in bytes."""
