"""What was written to a cache at a surcharge and then never read: how many tokens, what the surcharge was, and why.

Nothing is claimed that the rows do not show. The part of a write that counts as read is the largest that any later
request of the session may have read: its child as many tokens as it read; any other request of the same model, while
the entry can have lived, whatever it read beyond the entry of its own parent. Where both prompts are known, no more
than the prefix that they share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Row, Usage
from agentsim.core.verdict import Evidence
from agentsim.diagnose.elimination import OBSERVED_CLOCK
from agentsim.rules.prices import RateCard, default_book
from agentsim.rules.providers import rules_for

CODE = "AS307"
"""The cause that these rows have."""

MOST_READERS = 500
"""Requests that one write is compared with. Where more of them may have read it, nothing is claimed."""

Why = Literal[
    "alone",  # the only request of its lane
    "last",  # the last request of its lane
    "late",  # the next request of its lane came when the entry had expired
    "other",  # the next request of its lane came in time, and read something else or less
]
"""Why nobody read what a request wrote."""


class NeverRead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one request wrote in vain: ``unread`` of its ``written`` tokens, for a ``surcharge`` in picodollars over the
    price of ordinary input. ``established`` says in words what shows it; ``evidence`` is ``proved`` where prompts do.
    """

    request: str
    written: int
    unread: int
    surcharge: int
    why: Why
    evidence: Evidence
    established: str


class InVain(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sums over such writes: how many, their unread tokens, the surcharge in picodollars."""

    writes: int = 0
    tokens: int = 0
    surcharge: int = 0


def never_read(rows: Sequence[Row]) -> tuple[NeverRead | None, ...]:
    """For each row of a diagnosed session, what it wrote in vain; ``None`` where nothing is known to be.

    A row whose model has no known price, or no surcharge for what it wrote, has nothing in vain. Requests of other
    sessions are not looked at.
    """
    spans = [_Span.of(row) for row in rows]
    reached, readers = _readings(rows, spans)
    following = _next_in_lanes(rows)
    alone = _alone(rows)
    found: list[NeverRead | None] = []
    for place, (row, span) in enumerate(zip(rows, spans, strict=True)):
        unread = 0
        rates = _rates(row) if span.written and not span.several and row.request.counted else None
        if rates is not None and reached[place] < span.end:
            unread = span.end - _reach(rows, spans, place, reached[place], readers[_cache_of(row.request)])
        surcharge = _surcharge(unread, row.usage, rates) if rates is not None else 0
        if surcharge:
            after = following[place]
            why, what = _why(row, span, None if after is None else rows[after], row.request.lane in alone)
            share = "none" if unread == span.written else f"{span.written - unread:,}"
            found.append(
                NeverRead(
                    request=row.request.id,
                    written=span.written,
                    unread=unread,
                    surcharge=surcharge,
                    why=why,
                    evidence="implied" if row.request.prompt is None else "proved",
                    established=f"Of the {span.written:,} tokens that it wrote {share} were read later: {what}",
                )
            )
        else:
            found.append(None)
    return tuple(found)


def in_vain(found: Iterable[NeverRead | None]) -> InVain:
    """The sums of what was written in vain."""
    there = [one for one in found if one is not None]
    return InVain(
        writes=len(there), tokens=sum(one.unread for one in there), surcharge=sum(one.surcharge for one in there)
    )


class _Span(NamedTuple):
    """Where in its prompt a row wrote: the tokens from ``read`` to ``end``. Sums of ``several`` calls are no place."""

    read: int
    written: int
    several: bool

    @property
    def end(self) -> int:
        return self.read + self.written

    @classmethod
    def of(cls, row: Row) -> _Span:
        return cls(row.usage.read or 0, row.usage.write or 0, len(row.request.iterations) > 1)


class _Reader(NamedTuple):
    """A row that read up to ``read``, of which its parent's entry explains what lies before ``explained``."""

    place: int
    start: int | None
    read: int
    explained: int


_Cache = tuple[str, str]


def _cache_of(request: Request) -> _Cache:
    return request.provider, request.model


def _readings(rows: Sequence[Row], spans: Sequence[_Span]) -> tuple[list[int], dict[_Cache, list[_Reader]]]:
    """How far each row's prompt was read by its own children, and the rows that may have read what others wrote."""
    places: dict[str, int] = {}
    reached = [span.read for span in spans]
    readers: dict[_Cache, list[_Reader]] = {}
    for place, (row, span) in enumerate(zip(rows, spans, strict=True)):
        request = row.request
        cache = _cache_of(request)
        into = readers.setdefault(cache, [])
        explained = 0
        parent = places.get(request.parent) if request.parent is not None else None
        if parent is not None and _cache_of(rows[parent].request) == cache:
            end = spans[parent].end
            reached[parent] = max(reached[parent], min(span.read, end))
            # An entry that was surely alive and is read to its end is what was read; a shorter read may be of another.
            if span.read >= end and not spans[parent].several and _surely_alive(rows[parent], row):
                explained = end
        if span.read > explained:
            into.append(_Reader(place, row.start, span.read, explained))
        places[request.id] = place
    return reached, readers


def _reach(rows: Sequence[Row], spans: Sequence[_Span], place: int, reached: int, readers: Sequence[_Reader]) -> int:
    """How far a row's prompt may have been read: ``reached`` by its children, and beyond it by others."""
    row, span = rows[place], spans[place]
    deadline = _deadline(row)
    first = bisect_right(readers, place, key=_place)
    for number in range(first, len(readers)):
        reader = readers[number]
        if reader.start is not None and deadline is not None and reader.start > deadline:
            break
        if number - first == MOST_READERS:
            return span.end
        if reader.read > reached and reader.explained < span.end:
            reached = max(reached, min(reader.read, span.end, _shared(row, rows[reader.place].request)))
            if reached >= span.end:
                break
    return reached


def _place(reader: _Reader) -> int:
    return reader.place


def _shared(row: Row, other: Request) -> int:
    """How many tokens of a row's prompt may be the beginning of another's, as far as prompts tell."""
    mine, total = row.request.prompt, row.usage.total_input or 0
    if mine is None or other.prompt is None or not mine.tokens:
        return total
    common = mine.common_length(other.prompt)
    if common == len(mine):
        return total
    # Sizes of blocks may be estimates; the counters say how large the whole is.
    return -(-mine.tokens_until(common) * total // mine.tokens)


def _lifetimes(request: Request) -> tuple[int, int] | None:
    """The shorter and the longer lifetime of entries in nanoseconds; ``None`` where no rules are known."""
    try:
        rules = rules_for(request.provider, request.model, request.start)
    except ValueError:
        return None
    short = max(rules.ttl_short, rules.lives_short) + max(rules.ttl_grace, OBSERVED_CLOCK.grace)
    long = max(rules.ttl_long, rules.lives_long) + max(rules.ttl_grace_long, OBSERVED_CLOCK.grace_long)
    return short * SECOND, max(short, long) * SECOND


def _deadline(row: Row) -> int | None:
    """The last moment at which an entry of a row may be found, by any reading of the rules; ``None``: unknown."""
    used = max((time for time in (row.start, row.first_token, row.end) if time is not None), default=None)
    lifetimes = _lifetimes(row.request)
    if row.start is None or used is None or lifetimes is None:
        return None
    return used + lifetimes[bool(row.usage.write_long or row.usage.write_other)]


def _surely_alive(parent: Row, row: Row) -> bool:
    """Whether all that a parent left in the cache was there when its child was sent, by every reading of the rules."""
    if parent.start is None or row.start is None:
        return False
    try:
        rules = rules_for(parent.request.provider, parent.request.model, parent.start)
    except ValueError:
        return False
    hour = parent.usage.write_long and not parent.usage.write_short and not parent.usage.write_other
    return row.start - parent.start <= (rules.ttl_long if hour else rules.ttl_short) * SECOND


def _rates(row: Row) -> RateCard | None:
    return default_book().card_for(row.request, row.usage)


def _surcharge(unread: int, usage: Usage, rates: RateCard) -> int:
    """What the last ``unread`` tokens of a write cost over ordinary input, in picodollars.

    Those with the shorter lifetime stand behind the others, and cost less. An unknown surcharge is not counted.
    """
    left, paid = unread, 0
    for count, rate in (
        ((usage.write_short or 0) + (usage.write_other or 0), rates.write_short),
        (usage.write_long or 0, rates.write_long),
    ):
        part = min(left, count)
        left -= part
        if rate is not None:
            paid += part * max(0, rate - rates.fresh)
    return paid


def _next_in_lanes(rows: Sequence[Row]) -> list[int | None]:
    """For each row the place of the next one in its lane."""
    following: list[int | None] = [None] * len(rows)
    last: dict[str, int] = {}
    for place, row in enumerate(rows):
        before = last.get(row.request.lane)
        if before is not None:
            following[before] = place
        last[row.request.lane] = place
    return following


def _alone(rows: Sequence[Row]) -> set[str]:
    """Lanes that have one request."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.request.lane] = counts.get(row.request.lane, 0) + 1
    return {lane for lane, count in counts.items() if count == 1}


def _why(row: Row, span: _Span, after: Row | None, alone: bool) -> tuple[Why, str]:
    """Why nobody read what a row wrote, with the words for it."""
    if after is None:
        if alone:
            return "alone", "it is the only request of its lane, and no other read this prefix."
        return "last", "it is the last request of its lane, and no other read this prefix."
    deadline = _deadline(row)
    if after.start is not None and row.start is not None and deadline is not None and after.start > deadline:
        seconds = (after.start - row.start) // SECOND
        return "late", f"the next request of its lane began {seconds:,} s later, when the entry had expired."
    if after.request.model != row.request.model:
        return "other", f"the next request of its lane went to another model, {after.request.model}."
    read = after.usage.read or 0
    if after.request.parent == row.request.id or read <= span.read:
        return "other", f"it wrote from {span.read:,} to {span.end:,}, the next request of its lane read {read:,}."
    return "other", "the next request of its lane continues another one."
