"""The endpoint as a server: its paths, its connections, and the harness that runs against it."""
