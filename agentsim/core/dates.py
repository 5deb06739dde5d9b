"""Times that are moments of a calendar, and times that count from the beginning of their own trace."""

from __future__ import annotations

from datetime import date

SECOND = 10**9
"""Nanoseconds in a second."""

DAY = 86_400 * SECOND
"""Nanoseconds in a day."""

_EPOCH = date(1970, 1, 1)

EARLIEST = 10**17
"""Nanoseconds: early 1973. A trace whose times are earlier counts them from its own beginning."""


def has_date(nanoseconds: int) -> bool:
    """Whether a time is a moment of a calendar. Serving traces and simulations may begin at zero instead."""
    return nanoseconds >= EARLIEST


def start_of(day: date) -> int:
    """The first nanosecond of a day, UTC."""
    return (day - _EPOCH).days * DAY
