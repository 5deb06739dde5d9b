"""What the figures of a fleet can be looked at by. Commands offer these names before anything else is loaded."""

from __future__ import annotations

LOSSES_BY = ("cause", "harness", "version", "model", "project", "team", "week", "tier")
"""What losses can be added up by."""

WATCHED_BY = ("harness", "version", "model", "tier", "project", "team")
"""Of what each value can be watched by itself."""
