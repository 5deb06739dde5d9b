"""Scenario files and their schema: agents that do not exist yet, described well enough to be simulated."""
