"""What the endpoint reads of a request's headers. It looks at no other."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agentsim.traces.capture_lanes import AskingAgent

SESSIONS = (
    b"x-claude-code-session-id",
    b"x-agentsim-session",
    b"session_id",
    b"session-id",
    b"conversation_id",
    b"x-session-id",
    b"x-session-affinity",
)
"""Headers that name a session, the first that is there counts."""

_AGENT, _PARENT_AGENT = b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id"
_PARENT_SESSION = b"x-parent-session-id"
_THREAD, _PARENT_THREAD, _TURN = b"thread-id", b"x-codex-parent-thread-id", b"x-codex-turn-metadata"

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


class AskedBy(msgspec.Struct, frozen=True):
    """The session that headers name, the agent that asks, and the session that this one was begun by."""

    session: str | None = None
    agent: AskingAgent | None = None
    parent_session: str | None = None


def asked_by(headers: Mapping[bytes, bytes]) -> AskedBy:
    """Who asks, as the headers of harnesses name them."""
    session = session_named(headers)
    if b"x-claude-code-session-id" in headers:
        return AskedBy(session, AskingAgent(text_of(headers, _AGENT), text_of(headers, _PARENT_AGENT)))
    if (thread := text_of(headers, _THREAD)) is not None and session is not None:
        parent = text_of(headers, _PARENT_THREAD) or _turn(headers).parent_thread_id
        is_main = thread == session and not parent
        return AskedBy(session, AskingAgent() if is_main else AskingAgent(thread, parent))
    return AskedBy(session, None, text_of(headers, _PARENT_SESSION))


class _Turn(msgspec.Struct):
    parent_thread_id: str | None = None


_turns = msgspec.json.Decoder(_Turn)


def _turn(headers: Mapping[bytes, bytes]) -> _Turn:
    try:
        return _turns.decode(headers.get(_TURN, b"{}"))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Turn()


def betas_of(headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """The betas that a header names, in order."""
    value = headers.get(b"anthropic-beta", b"").decode("latin-1")
    return tuple(sorted({part for item in value.split(",") if (part := item.strip())}))
