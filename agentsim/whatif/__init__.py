"""What would have been cheaper: the same work under another policy, re-simulated."""
