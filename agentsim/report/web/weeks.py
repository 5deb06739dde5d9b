"""All days or weeks from the first to the last: one in which nothing was sent stays empty on the axis."""

from __future__ import annotations

from datetime import date, timedelta

MOST_DAYS = 62
"""Days that are drawn one by one; of a longer time it is weeks."""

_MOST = 2000


def every_week(first: str, last: str) -> list[str]:
    """All ISO weeks (``2026-W05``) between two, both within; the two alone where one is no week."""
    try:
        day, end = _monday(first), _monday(last)
    except ValueError:
        return list(dict.fromkeys((first, last)))
    weeks: list[str] = []
    while day <= end and len(weeks) < _MOST:
        year, week, _ = day.isocalendar()
        weeks.append(f"{year}-W{week:02d}")
        day += timedelta(weeks=1)
    return weeks


def every_day(first: str, last: str, step: int = 1) -> list[str]:
    """All days (``2026-01-31``) between two, both within, in steps of so many."""
    day, end = date.fromisoformat(first), date.fromisoformat(last)
    days: list[str] = []
    while day <= end and len(days) < _MOST:
        days.append(day.isoformat())
        day += timedelta(days=step)
    return days


def _monday(week: str) -> date:
    year, _, number = week.partition("-W")
    return date.fromisocalendar(int(year), int(number), 1)
