"""The project's own trace format: JSON lines, each prompt told as what is new in it.

A session is a header line and a line for each of its requests and events. Several sessions may follow each other in one
file. :mod:`agentsim.traces.readers.agentsim1.trace_wire` defines the lines, and makes a JSON Schema of them.
"""

from __future__ import annotations

from agentsim.traces.readers.agentsim1.fingerprints import fingerprint, fingerprints, is_keyed
from agentsim.traces.readers.agentsim1.trace_reading import read_sessions
from agentsim.traces.readers.agentsim1.trace_writer import lines, write

__all__ = ["DESCRIPTION", "NAME", "VERIFIED", "detect", "fingerprint", "fingerprints", "is_keyed", "lines"]
__all__ += ["read_sessions", "write"]

NAME = "agentsim/1"
DESCRIPTION = "agentsim's own traces, with or without content (agentsim trace convert)"
VERIFIED = True


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like a trace of any version (a newer one is named in an error)."""
    line = head.lstrip()[:200]
    return line.startswith(b"{") and b'"agentsim/' in line and b'"format"' in line
