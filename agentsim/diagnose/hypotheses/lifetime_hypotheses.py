"""Time: the entry had expired, was dropped during a pause, or could not be read yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsim.core.dates import SECOND
from agentsim.diagnose.hypothesis import Hypothesis
from agentsim.diagnose.lifetime_clock import DOCUMENTED_CLOCK
from agentsim.diagnose.row_case import RowCase
from agentsim.diagnose.row_facts import FIVE_MINUTES, ONE_HOUR, RowFacts
from agentsim.rules.providers.neutral_rules import PAUSE

if TYPE_CHECKING:
    from agentsim.diagnose.body_case import BodyCase

MOST_DOUBT = 60
"""Seconds; no rules doubt that an entry can be read for longer."""

DOUBT = 60
"""Seconds; after longer pauses than this losses are seen more often, though nobody documents it."""

_REFRESHED = "That the lifetime counts from the request's start, and that nothing refreshed the entry."
_UNKNOWN = "The time since the previous request is not known."


def expiry_code(parent: RowFacts) -> str:
    """The code of an expiry, by the lifetime that the entry had."""
    if parent.ttl_dropped and parent.ttl != ONE_HOUR:
        return "AS203"
    if parent.ttl is None and parent.lives is not None:
        return "AS206"
    return {None: "AS201", FIVE_MINUTES: "AS201", ONE_HOUR: "AS202"}.get(parent.ttl, "AS206")


def on_lifetimes(case: RowCase) -> Iterator[Hypothesis]:
    """Expiries, the pauses of automatic caches, and entries that were not readable yet."""
    code = expiry_code(case.parent)
    if case.expired == "yes":
        check = _REFRESHED if case.clock is DOCUMENTED_CLOCK else None
        supposed = case.parent.ttl is None and case.parent.lives is None and (case.idle or 0) <= ONE_HOUR
        # An hour may have been asked for: where the log does not tell, five minutes are the usual lifetime and no more.
        yield Hypothesis(code, "likely" if supposed else "sufficient", None, check, 90 if supposed else 160)
    elif case.expired == "edge":
        yield Hypothesis("AS204", "likely", weight=85)
        yield Hypothesis(code, "open", weight=84)
    elif case.expired == "no":
        yield Hypothesis(code, "excluded", case.clock_sentence)
    elif case.row.automatic:
        yield _pause(case)
    else:
        yield from _time_unknown(case, code)
    yield _readable(case)


def _time_unknown(case: RowCase, code: str) -> Iterator[Hypothesis]:
    sentence = _UNKNOWN if case.clock_sentence is None else None
    check = "Whether the entry had expired: that cannot be excluded."
    fixed = case.parent.ttl is None and case.row.fixed_lifetime
    codes = ("AS201", "AS202") if fixed else ("AS202" if case.parent.ttl == ONE_HOUR else "AS206",)
    if case.parent.ttl == FIVE_MINUTES:
        codes = ("AS201",)
    for number, possible in enumerate(codes):
        yield Hypothesis(possible, "open", None if number else sentence, None if number else check, 75 - number)


def _pause(case: RowCase) -> Hypothesis:
    if case.idle is None:
        return Hypothesis("AS205", "open", _UNKNOWN, weight=45)
    pause = PAUSE if case.rules is None else case.rules.pause
    if case.idle > pause:
        sentence = "Such caches keep a prefix for some minutes after its last use, and longer at quiet times."
        return Hypothesis("AS205", "likely", sentence, weight=78)
    if case.idle > DOUBT:
        return Hypothesis("AS205", "open", weight=45)
    return Hypothesis("AS205", "excluded", f"It was idle for {case.idle} s only.")


def _readable(case: RowCase) -> Hypothesis:
    """Sent side by side with its parent; or, where an entry is not always readable at once, a moment after it."""
    row, parent = case.row, case.parent
    readable = parent.first_token if parent.first_token is not None else parent.end
    if row.start is None or readable is None:
        return Hypothesis("AS501", "open", weight=1)
    check = "Whether the entry was readable yet: send the second request a little later and compare."
    if row.start < readable:
        sentence = "It was sent before the response that wrote the entry had begun."
        return Hypothesis("AS501", "likely", sentence, check, weight=80)
    ended = parent.end if parent.end is not None else readable
    if row.start >= ended + MOST_DOUBT * SECOND:
        return Hypothesis("AS501", "excluded", "It was sent when the entry could be read.")
    doubt = case.rules.readable_doubt if case.rules is not None else 0
    if not doubt or row.start >= ended + doubt * SECOND:
        return Hypothesis("AS501", "excluded", "It was sent when the entry could be read.")
    if not (row.read == parent.read or (row.total == parent.total and row.read == 0)):
        return Hypothesis("AS501", "open", weight=10)
    after = f"It was sent within {doubt} seconds after the response that wrote the entry"
    sentence = f"{after}, and read what was there before that."
    # Where a prefix is found on one machine and not on another, an older copy looks the same.
    return Hypothesis("AS501", "open" if row.automatic else "likely", sentence, check, 45 if row.automatic else 80)


def lifetimes_by_bodies(case: BodyCase) -> Iterator[Hypothesis]:
    """Content that was not readable yet, and content that a pause outlived."""
    before = case.parent.request.id
    if case.this.now < case.parent.readable:
        sentence = "The answer to the request before had not begun."
        yield Hypothesis("AS501", "sufficient", sentence, weight=150, predicted=(case.predicted, case.predicted))
    elif case.newest_not_found():
        sentence = (
            f"It read what was there before request {before}, whose answer had ended "
            f"{max(0, case.since_answer) // SECOND} s before; what that request sent was not found yet."
        )
        yield Hypothesis("AS501", "likely", sentence, weight=140)
    else:
        yield Hypothesis("AS501", "open" if case.young else "excluded", weight=50)
    if case.idle > case.rules.pause and case.place is None:
        sentence = (
            f"The front of {case.front:,} tokens was the same and was not found, {case.idle:,} s after its last use; "
            "such caches keep a prefix for some minutes after its last use, and longer at quiet times."
        )
        yield Hypothesis("AS205", "likely", sentence, weight=90)
    else:
        yield Hypothesis("AS205", "open" if case.idle > DOUBT else "excluded", weight=40)
