"""Other programs that explain lost caches, asked about the same files and scored by the same rules.

Each is installed by whoever runs this, in an environment of its own; one that is not there is left out.
"""
