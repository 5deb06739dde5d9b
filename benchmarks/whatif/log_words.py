"""Words and times as logs hold them."""

from __future__ import annotations

from datetime import UTC, datetime


def words(tokens: int) -> str:
    """Some text of so many tokens."""
    return ("work " * tokens).strip() or "."


def stamp(time: int) -> str:
    """A time in nanoseconds, to the millisecond."""
    moment = datetime.fromtimestamp(time // 10**9, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time % 10**9 // 10**6:03d}Z"
