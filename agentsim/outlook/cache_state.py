"""What a session left in its provider's cache: how much, for how long, and what the rules promise about it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session
from agentsim.diagnose.facts_from_session import facts_of
from agentsim.diagnose.row_facts import RowFacts
from agentsim.rules.providers import ProviderRules, rules_for

_LOGGED = "session_log"


class NothingToPrice(ValueError):
    """A session from whose rows no next request can be foretold, and why."""


class TokenRange(msgspec.Struct, frozen=True, gc=False):
    """Tokens as the rules and the log foretell them, with the fewest and the most that nothing contradicts."""

    expected: int
    low: int
    high: int

    @classmethod
    def of(cls, tokens: int) -> TokenRange:
        """A number that is known."""
        return cls(tokens, tokens, tokens)


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """When an entry ends (nanoseconds, UTC): it is kept until ``promised`` at least, ``expected`` by the rules, and
    was never seen after ``latest``. ``None``: nobody says."""

    promised: int | None
    expected: int | None
    latest: int | None

    def state(self, now: int) -> str:
        """``warm``, ``cold``, or ``unsure`` where neither is promised."""
        if self.promised is not None and now <= self.promised:
            return "warm"
        if self.latest is not None and now > self.latest:
            return "cold"
        return "unsure"

    def kept(self, now: int) -> tuple[bool, bool, bool]:
        """Whether the entry is there at a time: as expected, at worst, at best."""
        expected = self.expected is None or now <= self.expected
        return expected, self.promised is not None and now <= self.promised, self.latest is None or now <= self.latest


class CacheState(msgspec.Struct, frozen=True, kw_only=True):
    """The main conversation of a session after its last row.

    ``cached`` tokens end with the last entry that was written or read, ``prompt`` is the whole last prompt and ``next``
    what the next one begins with: that prompt and the reply to it. ``front`` is what requests share whatever their
    history (tools and system), ``opening`` the shortest prompt of the conversation, which began it or followed a
    summary. ``chain`` are its rows, the last one first, as far back as each prompt still begins with theirs. ``ttl``
    are the seconds that its entries were written for. ``long`` says that writes cost what the longer lifetime does;
    ``None``: the log does not tell. ``summaries`` are the sizes of
    summaries that it was compacted to. ``announces_tools``: its harness tells tools in messages and leaves the list of
    tools as it is. ``reads_seen`` are how many rows read all that was kept, and of how many.
    """

    session: Session
    last: Request
    rules: ProviderRules
    chain: tuple[RowFacts, ...]
    cached: int
    prompt: int
    next: TokenRange
    front: TokenRange
    opening: int
    ttl: TokenRange
    long: bool | None
    summaries: tuple[int, ...] = ()
    announces_tools: bool = False
    reads_seen: tuple[int, int] = (0, 0)

    @property
    def promises(self) -> bool:
        """Whether the provider promises to keep what was written: others keep what they have room for."""
        return self.rules.matching == "breakpoint" and self.rules.eviction == "lifetime"

    def deadline(self, row: RowFacts) -> Deadline:
        """When what a row left ends, unless something reads it before."""
        begun = row.start if row.start is not None else row.end
        if begun is None:
            return Deadline(None, None, None)
        if self.rules.eviction != "lifetime":  # an engine keeps what it has room for
            return Deadline(begun, None, None)
        ends = row.end if row.end is not None else begun
        ttl = self.ttl if row is self.chain[0] or row.ttl is None else TokenRange.of(row.ttl)
        grace = self.rules.ttl_grace_long if ttl.high > self.rules.ttl_short else self.rules.ttl_grace
        counted = ends if self.rules.ttl_clock == "response_end" else begun
        promised = begun + ttl.low * SECOND if self.promises else begun
        return Deadline(promised, counted + ttl.expected * SECOND, counted + (ttl.high + grace) * SECOND)


def state_of(session: Session, lane: str | None = None) -> CacheState:
    """The state of a lane, by default of the main conversation whose row came last. Raises NothingToPrice."""
    last = _last_request(session, lane)
    facts = {row.id: row for row in facts_of(session)}
    row = facts[last.id]
    usage = last.usage
    if usage is None or not row.measured or usage.total_input is None:
        raise NothingToPrice("its last row reports no cache counters")
    observed = session.completeness == "messages"
    try:
        rules = rules_for(
            last.provider,
            last.model,
            last.start,
            _LOGGED if observed else None,
            marked=last.prompt is not None and bool(last.prompt.breakpoints),
        )
    except ValueError as error:
        raise NothingToPrice(str(error)) from None
    chain = _chain(row)
    of_lane = [facts[request.id] for request in session.requests if request.lane == last.lane]
    opening = min((one.total for one in of_lane if one.measured and one.total), default=row.total)
    front = _front(last, row, of_lane, opening, rules)
    cached = row.warm
    if rules.matching != "breakpoint":
        cached = row.total // rules.quantum * rules.quantum if row.total >= rules.minimum else 0
    usual = [one for one in of_lane if one.parent is not None and one.measured]
    return CacheState(
        session=session,
        last=last,
        rules=rules,
        chain=chain,
        cached=cached,
        prompt=row.total,
        next=_next(row, rules),
        front=front,
        opening=opening,
        ttl=_lifetime(row, rules),
        long=_is_long(last, row, rules),
        summaries=tuple(
            max(one.total - (front.expected or one.read), 0) for one in of_lane if "compaction" in one.events
        ),
        announces_tools=any(event.kind == "tools_delta" for event in session.events),
        reads_seen=(sum(one.read >= (one.parent.warm if one.parent else 0) for one in usual), len(usual)),
    )


def _last_request(session: Session, lane: str | None) -> Request:
    mains = {one.id for one in session.lanes if one.purpose == "main"} or {one.id for one in session.lanes}
    wanted = {lane} if lane is not None else mains
    found = [
        request
        for request in session.requests
        if request.lane in wanted and request.usage is not None and request.purpose not in ("helper", "probe")
    ]
    if not found:
        raise NothingToPrice("it holds no request with counters" if lane is None else f"no request in lane {lane}")
    return max(enumerate(found), key=lambda pair: (pair[1].end or pair[1].start or 0, pair[0]))[1]


def _chain(row: RowFacts) -> tuple[RowFacts, ...]:
    """The rows whose prompts the last one begins with: a summary ends them."""
    rows: list[RowFacts] = []
    found: RowFacts | None = row
    while found is not None and len(rows) < 10_000:
        rows.append(found)
        if "compaction" in found.events:
            break
        found = found.parent
    return tuple(rows)


def _next(row: RowFacts, rules: ProviderRules) -> TokenRange:
    """What the next prompt holds before anything is typed: thinking and reasoning in a reply may be dropped."""
    reply = row.output or 0
    kept = rules.matching == "breakpoint" and rules.write_fee == "by_lifetime" and rules.thinking == "kept"
    whole = row.total + reply
    return TokenRange(whole, whole if kept and row.output is not None else row.total, whole)


def _front(last: Request, row: RowFacts, rows: Sequence[RowFacts], opening: int, rules: ProviderRules) -> TokenRange:
    """Tools and system, as far as an entry ends there: told by bodies or by the log, else by what was still read after
    losses."""
    prompt = last.prompt
    if prompt is not None:
        end = prompt.section_end("system")
        if rules.matching == "breakpoint":
            inside = [marker.position + 1 for marker in prompt.breakpoints if marker.position < end]
            return TokenRange.of(prompt.tokens_until(max(inside, default=0)))
        tokens = prompt.tokens_until(end)
        return TokenRange(0 if rules.matching == "unit" else tokens, 0, tokens)
    if row.head_tokens is not None:
        return TokenRange(row.head_tokens, 0, row.head_tokens)
    lost = [one.read for one in rows if 0 < one.read <= opening and (one.parent is None or one.read < one.parent.warm)]
    return TokenRange(lost[-1] if lost else 0, 0, opening)


def _lifetime(row: RowFacts, rules: ProviderRules) -> TokenRange:
    """For how many seconds its entries are kept: as the log's writes tell, else what the provider offers."""
    if row.ttl is not None:
        return TokenRange.of(row.ttl)
    short = rules.lives_short or rules.ttl_short
    long = max(short, rules.lives_long or rules.ttl_long)
    unasked = long if rules.ttl_unasked == "long" and rules.matching != "breakpoint" else short
    if rules.matching != "breakpoint" and not rules.ttl_chosen:
        return TokenRange(unasked, short, unasked)
    return TokenRange(unasked, short, long)


def _is_long(last: Request, row: RowFacts, rules: ProviderRules) -> bool | None:
    usage = last.usage
    if usage is not None and (usage.write_short or usage.write_long):
        return not usage.write_short
    if row.ttl is not None:
        return row.ttl > rules.ttl_short
    return None if usage is not None and usage.write_other else False
