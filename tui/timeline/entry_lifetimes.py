"""How long the entry of each request lived, and whether the next request came in time. Pure arithmetic."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Literal, NamedTuple

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Row, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.lifetime_clock import OBSERVED_CLOCK
from agentsim.report import figures
from agentsim.rules.providers import rules_for

SHORT, LONG = 300, 3600
EXPIRED = frozenset(one.code for one in CAUSES.values() if one.undone_by == "retention")

Fate = Literal["used", "late", "unused"]
"""An entry was read before it expired; the next request of its lane came after that; or there was none."""


class Life(NamedTuple):
    """The entry that a request wrote or read. Times are nanoseconds; ``begins`` is when its lifetime began to count."""

    begins: int
    ttl: int
    ends: int
    next: int | None
    fate: Fate

    def late_by(self, start: int) -> int:
        """Nanoseconds from its end to the start of the next request; below zero where that came in time."""
        return start - self.ends


class Lifetimes:
    """The lives of a session's entries, each calculated when it is asked for."""

    def __init__(self, session: Session, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
        self.rows = rows
        self.verdicts = verdicts
        self._from_end = session.completeness == "messages" and OBSERVED_CLOCK.from_end
        self._next = _next_in_lane([row.request for row in rows])
        self._before = _previous(self._next)
        self._clocks: dict[tuple[str, str], bool] = {}

    def before(self, index: int) -> int | None:
        """The row before in its lane."""
        before = self._before[index]
        return before if before >= 0 else None

    def next(self, index: int) -> int | None:
        """The row after in its lane."""
        after = self._next[index]
        return after if after >= 0 else None

    def life(self, index: int) -> Life | None:
        """The life of a row's entry; ``None`` where it kept none, or the log tells no times."""
        row = self.rows[index]
        if row.start is None or not (row.usage.read or row.usage.write):
            return None
        ttl = self._ttl(index)
        begins = row.start
        if self._counts_from_end(row.request) and row.end is not None:
            begins = row.end
        ends = begins + ttl * SECOND
        after = self.next(index)
        start = self.rows[after].start if after is not None else None
        if after is None or start is None:
            return Life(begins, ttl, ends, after, "unused")
        # The verdict knows better than the nominal lifetime: entries are sometimes found a little later.
        expired = self.verdicts[after].cause in EXPIRED and self.verdicts[after].kind == "miss"
        late = expired or (start > ends and not self._read_all(after))
        return Life(begins, ttl, ends, after, "late" if late else "used")

    def _read_all(self, index: int) -> bool:
        return self.verdicts[index].kind in ("hit", "extended", "shorter", "recovered")

    def _ttl(self, index: int) -> int:
        """The lifetime a row asked for; one that wrote nothing refreshes the entry it read, at that one's lifetime."""
        place: int | None = index
        for _ in range(200):
            if place is None:
                break
            row = self.rows[place]
            ttl = _asked(row.usage, row.request)
            if ttl is not None:
                return ttl
            place = self.before(place)
        return SHORT

    def _counts_from_end(self, request: Request) -> bool:
        if self._from_end:
            return True
        key = (request.provider, request.model)
        if key not in self._clocks:
            try:
                rules = rules_for(request.provider, request.model, request.start)
            except (ValueError, KeyError):
                self._clocks[key] = False
            else:
                self._clocks[key] = rules.ttl_clock == "response_end"
        return self._clocks[key]

    def sentence(self, index: int) -> str:
        """In words: when a row began, until when the entry before it lived, and whether that was enough."""
        row = self.rows[index]
        if row.start is None:
            return f"#{index + 1}: the log tells no time."
        before = self.before(index)
        text = f"#{index + 1} began at {figures.clock(row.start)}"
        if before is None:
            return f"{text}, the first of its lane."
        life = self.life(before)
        if life is None:
            return f"{text}; #{before + 1} before it kept no entry."
        since = "began" if life.begins == self.rows[before].start else "ended"
        text += (
            f"; the entry of #{before + 1} lived {figures.span(life.ttl * SECOND)} from when that {since}, "
            f"until {figures.clock(life.ends)}: "
        )
        late = life.late_by(row.start)
        if life.fate == "late":
            return text + (f"{figures.span(late)} too late." if late > 0 else "it was gone all the same.")
        if late > 0:
            return text + f"read {figures.span(late)} after that all the same."
        return text + f"{figures.span(-late)} to spare."


def _asked(usage: Usage, request: Request) -> int | None:
    if usage.write_long or usage.write_short:
        try:
            rules = rules_for(request.provider, request.model, request.start)
        except ValueError:
            return LONG if usage.write_long else SHORT
        return rules.ttl_long if usage.write_long else rules.ttl_short
    if request.prompt is not None and request.prompt.breakpoints:
        return request.prompt.breakpoints[-1].ttl
    return None


def _next_in_lane(requests: Sequence[Request]) -> array[int]:
    following = array("q", bytes(8 * len(requests)))
    after: dict[str, int] = {}
    for index in range(len(requests) - 1, -1, -1):
        lane = requests[index].lane
        # A refresh sends the request before it again; it belongs to that one's lane whatever its own is called.
        following[index] = after.get(lane, -1)
        after[lane] = index
    return following


def _previous(following: array[int]) -> array[int]:
    before = array("q", b"\xff" * 8 * len(following))
    for index, after in enumerate(following):
        if after >= 0:
            before[after] = index
    return before
