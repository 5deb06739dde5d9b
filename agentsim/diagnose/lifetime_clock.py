"""How lifetimes are counted in rows, and whether the entry that a row was to read had run out."""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentsim.core.dates import SECOND
from agentsim.diagnose.row_facts import FIVE_MINUTES, ONE_HOUR, RowFacts


class LifetimeClock(NamedTuple):
    """How lifetimes are counted: from the start of the request that last used an entry, or from the end of its
    response; and for how many seconds after a short or a long lifetime an entry may still be found."""

    from_end: bool
    grace: int
    grace_long: int


# The figures of agentsim/rules/providers/anthropic.toml, where their sources stand; a test compares the two. Reading
# that file takes longer than summing up a small log.
DOCUMENTED_CLOCK = LifetimeClock(from_end=False, grace=0, grace_long=0)
"""Provider documentation: from the start of the request."""

OBSERVED_CLOCK = LifetimeClock(from_end=True, grace=30, grace_long=50)
"""Session logs: entries were read up to 320 s, or 3,650 s, after the response before had ended."""

Expired = Literal["no", "edge", "yes", "unknown"]


def seconds_between(earlier: int | None, later: int | None) -> int | None:
    """Whole seconds from one time to another; ``None`` where one is not known."""
    return None if later is None or earlier is None else (later - earlier) // SECOND


def idle_seconds(row: RowFacts) -> int | None:
    """Seconds from the end of the parent's response (its start, where no end is known) to the row's start."""
    parent = row.parent
    if parent is None:
        return None
    return seconds_between(parent.start if parent.end is None else parent.end, row.start)


def expiry(row: RowFacts, clock: LifetimeClock) -> tuple[Expired, str | None]:
    """Whether the parent's entry had run out when the row was sent, and a sentence.

    ``edge`` is a lifetime that is just over, or over by one of the two ways to count it: neither a read nor a loss
    contradicts it. Where the lifetime is not known, a pause says as much as the least and the most that the rules name.
    """
    parent = row.parent
    if parent is None:
        return "unknown", None
    since_start = seconds_between(parent.start, row.start)
    since_end = seconds_between(parent.end, row.start)
    elapsed = since_end if clock.from_end else since_start
    if elapsed is None:
        elapsed = since_end if since_end is not None else since_start
    if elapsed is None:
        return "unknown", None
    if parent.ttl is None and parent.lives is None and not row.fixed_lifetime:
        since = since_end if since_end is not None else since_start
        return "unknown", f"No fixed lifetime is published for this provider's cache; it was idle for {since} s."
    if parent.ttl is None and parent.lives is not None:
        return _between_two(elapsed, *parent.lives)
    ttl = parent.ttl or FIVE_MINUTES
    supposed = parent.ttl is None
    name = "one-hour" if ttl == ONE_HOUR else "five-minute" if ttl == FIVE_MINUTES else f"{ttl} s"
    both = _since(since_start, since_end)
    grace = clock.grace_long if ttl == ONE_HOUR else clock.grace
    if elapsed <= ttl:
        if since_start is not None and since_start > ttl:
            return "edge", f"{both}: over a {name} lifetime if it counts from the start, and not from the end."
        return "no", f"{both}: the expiry of a {name} entry alone cannot explain it."
    if elapsed <= ttl + grace:
        return "edge", f"{both}: at the edge of a {name} lifetime."
    condition = ""
    if not clock.from_end and since_end is not None and since_end <= ttl:
        condition = " counted from the start, and with no other refresh,"
    if supposed:
        condition = f"{condition} if its lifetime is the usual one, which the log does not tell,"
    return "yes", f"{both}:{condition} the expiry of a {name} entry is enough to explain it."


def _between_two(elapsed: int, least: int, most: int) -> tuple[Expired, str]:
    if elapsed <= least:
        return "no", f"It was idle for {elapsed:,} s: this provider keeps an entry for {least:,} s at least."
    if elapsed <= most:
        return "unknown", f"It was idle for {elapsed:,} s: this provider keeps an entry for {least:,} to {most:,} s."
    return "yes", f"It was idle for {elapsed:,} s: this provider keeps an entry for {most:,} s at most."


def _since(since_start: int | None, since_end: int | None) -> str:
    parts = [
        text
        for text in (
            f"{since_start} s since the previous request began" if since_start is not None else "",
            f"{since_end} s since its response ended" if since_end is not None else "",
        )
        if text
    ]
    return " and ".join(parts)
