"""What the endpoint reads of a request's headers. It looks at no other."""

from __future__ import annotations

from collections.abc import Mapping

SESSIONS = (
    b"x-claude-code-session-id",
    b"x-agentsim-session",
    b"session_id",
    b"session-id",
    b"conversation_id",
    b"x-session-id",
)
"""Headers that name a session, the first that is there counts."""

_LONGEST = 200


def text_of(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    """The value of a header; ``None`` where there is none."""
    value = headers.get(name)
    return None if not value else value.decode("latin-1")[:_LONGEST]


def session_named(headers: Mapping[bytes, bytes]) -> str | None:
    """The session that the headers name."""
    for name in SESSIONS:
        value = headers.get(name)
        if value:
            return value.decode("latin-1")[:_LONGEST]
    return None


def betas_of(headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """The betas that a header names, in order."""
    value = headers.get(b"anthropic-beta", b"").decode("latin-1")
    return tuple(sorted({part for item in value.split(",") if (part := item.strip())}))
