"""Sessions of OpenCode and its forks: exports, the database, and the tree of files before it.

Usage convention: ``input`` excludes cached tokens, ``output`` includes reasoning (checked against ``total`` where it is
there). One answer is one request, unless it has several steps with counters of their own. Start and end are recorded.
Lifetimes of writes are not told; providers without writes get a 0 that is none. System text and tools are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentsim.core.session import Problem, Session

NAME = "opencode"
DESCRIPTION = "OpenCode sessions: opencode export, opencode.db, or storage/message/**/*.json"
VERIFIED = True

SQLITE = b"SQLite format 3\x00"


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like an export, like a message of the old tree, or is an OpenCode database."""
    if head.startswith(SQLITE):
        from agentsim.traces.readers.opencode.opencode_database import is_opencode

        return is_opencode(path)
    start = head.lstrip()[:65536].replace(b" ", b"").replace(b"\n", b"")
    if not start.startswith(b"{") or b'"id":"' not in start:
        return False
    if start.startswith(b'{"info":{') and (b'"projectID"' in start or b'"sessionID"' in start):
        return True
    return b'"id":"msg_' in start and b'"sessionID":"' in start and b'"role":"' in start and b'"info":' not in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these files, each answer counted once though it stands in several of them.

    Subagents become lanes of the session that started them, when it is among these. What is wrong with a file is told
    in ``problems``; without that list OSError is raised for it.
    """
    from agentsim.traces.readers.opencode.opencode_sessions import sessions_of

    yield from sessions_of(paths, problems)
