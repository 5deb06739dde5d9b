"""The few HTTP headers that a reader uses. All others are dropped unread: they may hold live keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

_AGENT = re.compile(r"claude-cli/([0-9][0-9A-Za-z.+-]{0,30})")
_text = msgspec.json.Decoder(str)


class HeaderFields(msgspec.Struct, frozen=True, gc=False):
    """What headers tell about a request."""

    session: str | None = None
    request_id: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    betas: tuple[str, ...] = ()


def told_by(headers: Mapping[str, msgspec.Raw] | None) -> HeaderFields:
    """What these headers tell. Names are compared without case; a value that is no string counts as absent."""
    wanted: dict[str, str] = {}
    for name, value in (headers or {}).items():
        lower = name.lower()
        if lower in ("x-claude-code-session-id", "request-id", "x-request-id", "user-agent", "anthropic-beta"):
            try:
                wanted[lower] = _text.decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    agent = _AGENT.search(wanted.get("user-agent", ""))
    betas = (part.strip() for part in wanted.get("anthropic-beta", "").split(","))
    return HeaderFields(
        session=wanted.get("x-claude-code-session-id") or None,
        request_id=wanted.get("request-id") or wanted.get("x-request-id") or None,
        harness="claude-code" if agent else None,
        harness_version=agent[1] if agent else None,
        betas=tuple(part for part in betas if part),
    )
