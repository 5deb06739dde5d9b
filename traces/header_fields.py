"""The few HTTP headers that a reader uses. All others are dropped unread: they may hold live keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

_AGENT = re.compile(r"\b(claude-cli|codex_cli_rs|codex-tui|codex_exec|opencode)/([0-9][0-9A-Za-z.+-]{0,30})")
_HARNESSES = {"claude-cli": "claude-code", "codex_cli_rs": "codex", "codex-tui": "codex", "codex_exec": "codex"}
_text = msgspec.json.Decoder(str)

SESSIONS = ("x-claude-code-session-id", "session_id", "session-id", "x-session-id", "conversation_id")
"""In which a harness names its session. A key under which prompts are cached is none: one key serves many sessions."""

ROUTES = ("session_id", "session-id", "conversation_id", "x-grok-conv-id")
"""By which providers send a conversation back to the machine that has its prefix."""

ACCOUNTS = ("anthropic-organization-id", "openai-organization", "chatgpt-account-id", "x-goog-user-project")
_WANTED = frozenset(
    (
        *SESSIONS,
        *ACCOUNTS,
        *ROUTES,
        "request-id",
        "x-request-id",
        "x-amzn-requestid",
        "user-agent",
        "anthropic-beta",
        "host",
    )
)


class HeaderFields(msgspec.Struct, frozen=True, gc=False):
    """What headers tell about a request. ``host`` is the server that was asked; ``routed`` is whether a header says
    where its conversation is known, ``None`` where no headers were recorded."""

    session: str | None = None
    request_id: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    betas: tuple[str, ...] = ()
    host: str | None = None
    account: str | None = None
    routed: bool | None = None


def told_by(headers: Mapping[str, msgspec.Raw] | None) -> HeaderFields:
    """What these headers tell. Names are compared without case; a value that is no string counts as absent."""
    wanted: dict[str, str] = {}
    for name, value in (headers or {}).items():
        lower = name.lower()
        if lower in _WANTED:
            try:
                wanted[lower] = _text.decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    agent = _AGENT.search(wanted.get("user-agent", ""))
    betas = (part.strip() for part in wanted.get("anthropic-beta", "").split(","))
    return HeaderFields(
        session=_first(wanted, SESSIONS),
        request_id=_first(wanted, ("request-id", "x-request-id", "x-amzn-requestid")),
        harness=_HARNESSES.get(agent[1], agent[1]) if agent else None,
        harness_version=agent[2] if agent else None,
        betas=tuple(part for part in betas if part),
        host=wanted.get("host") or None,
        account=_first(wanted, ACCOUNTS),
        routed=any(wanted.get(name) for name in ROUTES) if headers else None,
    )


def _first(wanted: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((wanted[name] for name in names if wanted.get(name)), None)
