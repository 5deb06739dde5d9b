"""Percent counters of a plan's allowance, where a log records them: Codex rollouts do, beside the tokens of each call.

Claude Code shows its counters in the status line alone, and writes them to no log.
"""

from __future__ import annotations

import msgspec

from agentsim.core.quota import QuotaReading
from agentsim.core.session import Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import rows_of

_MARK = b'"rate_limits"'


class _Window(msgspec.Struct, gc=False):
    used_percent: float | None = None
    window_minutes: int | None = None
    resets_at: int | None = None


class _Limits(msgspec.Struct, gc=False):
    limit_id: str | None = None
    plan_type: str | None = None
    primary: _Window | None = None
    secondary: _Window | None = None


class _Payload(msgspec.Struct, gc=False):
    rate_limits: _Limits | None = None


class _Line(msgspec.Struct, gc=False):
    payload: _Payload | None = None


_lines = msgspec.json.Decoder(_Line)
MOST_PER_CENT = 1_000.0
"""A counter beyond that is no percentage."""


def quota_readings(session: Session) -> dict[str, tuple[QuotaReading, ...]]:
    """By request the counters that stand in its line; empty for formats that record none.

    Raises OSError where a file of the session cannot be read again.
    """
    if session.format != "codex":
        return {}
    places: dict[str, dict[int, str]] = {}
    for request in session.requests:
        if request.source is not None:
            places.setdefault(request.source.file, {})[request.source.line] = request.id
    found: dict[str, tuple[QuotaReading, ...]] = {}
    for path, lines in places.items():
        for row in rows_of(path, _lines):
            if row.line not in lines or _MARK not in row.data:
                continue
            try:
                payload = row.checked().payload
            except BadRow:
                continue
            if payload is not None and payload.rate_limits is not None:
                readings = tuple(_readings(payload.rate_limits))
                if readings:
                    found[lines[row.line]] = readings
    return found


def _readings(limits: _Limits) -> list[QuotaReading]:
    name = "/".join(part for part in (limits.limit_id, limits.plan_type) if part)
    return [
        QuotaReading(window=window.window_minutes, used=window.used_percent, resets=window.resets_at, limit=name)
        for window in (limits.primary, limits.secondary)
        if window is not None
        and window.window_minutes is not None
        and window.window_minutes > 0
        and window.used_percent is not None
        and 0 <= window.used_percent <= MOST_PER_CENT
    ]
