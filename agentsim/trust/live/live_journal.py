"""The rows of a session that was sent, as JSON lines."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Usage
from agentsim.trust.live.live_run import LiveRow

FORMAT = "agentsim/live/1"
_encode = msgspec.json.encode


def head_row(session: str, api: str, host: str, rules: str, requests: int) -> bytes:
    """The first line: what is sent, and where."""
    row = {"record": "run", "format": FORMAT, "session": session, "api": api, "host": host, "rules": rules}
    return _encode({**row, "requests": requests}) + b"\n"


def request_row(row: LiveRow) -> bytes:
    """A request and its answer. No text of either is in it."""
    return (
        _encode(
            {
                "record": "request",
                "number": row.number,
                "id": row.request.id,
                "lane": row.request.lane,
                "model": row.request.model,
                "sent_ns": row.sent,
                "end_ns": row.end,
                "predicted": _usage(row.predicted),
                "reported": _usage(row.reported),
                "expected_read": row.expected,
                "agrees": row.agrees,
            }
        )
        + b"\n"
    )


def failure_row(reason: str) -> bytes:
    """Why it ended early."""
    return _encode({"record": "failure", "reason": reason}) + b"\n"


def _usage(usage: Usage) -> dict[str, int | None]:
    return {"total_input": usage.total_input, "fresh": usage.fresh, "read": usage.read, "write": usage.write}
