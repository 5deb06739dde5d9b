"""Automatic caches from counters alone: at least and at most, from what the rows prove and the dated rules allow.

Where a provider keeps every prompt by itself and a log holds only counters, no policy can be simulated: which prefix
was where is not known. What each change could have saved is still bounded. At least are the losses that can have no
other cause; at most those for which this cause is still open. Nothing is said that a row does not carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.rules.prices import RateCard, default_book, input_cost
from agentsim.rules.providers import ProviderRules, rules_for
from agentsim.whatif.policies.session_rewriting import has_markers
from agentsim.whatif.policies.summary_policy import KEPT, MOST_KEPT, SHRUNK, WRITTEN

LIMITS = (95_000, 120_000, 167_000, 239_000)
"""Tokens at which a compaction is tried, where a prompt is longer."""

REREAD_TOKENS = 3_000
"""Tokens that are read again after it, at most."""

SLACK = 10_000
"""By how much what is left after a compaction may differ from the figure taken for it, each way."""

FEWEST_WRITTEN = 1_000
"""Tokens that a summary has at least."""

DAY = 86_400

_TITLES = {
    "retention": "kept for a day",
    "one-cache": "always one cache",
    "same-prefix": "the front unchanged",
    "same-settings": "settings unchanged",
}

FAMILIES: Mapping[str, tuple[str, frozenset[str]]] = {
    name: (title, frozenset(one.code for one in CAUSES.values() if one.undone_by == name))
    for name, title in _TITLES.items()
}
"""What undoes which causes."""

CONDITIONS: Mapping[str, str] = {
    "one-cache": "A prompt_cache_key (or session id) for each conversation asks for it; a provider may still move one.",
    "same-prefix": "Nothing in front of the conversation's end is edited, moved or left out between two requests.",
    "same-settings": "Effort, thinking, tool choice and the like stay what they are in a conversation.",
}


class CacheBound(msgspec.Struct, frozen=True, kw_only=True):
    """What one change could have saved. Tokens are those read instead of sent fresh, or not sent at all; amounts are in
    picodollars, ``None`` where nothing has a price. ``least`` is ``None`` for what is only an upper bound. ``rows`` are
    the losses that it can be about. ``reason`` says why it is no change here."""

    name: str
    title: str
    rows: int
    least_tokens: int | None
    most_tokens: int
    least: int | None
    most: int | None
    condition: str = ""
    reason: str | None = None


class CacheBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds over sessions of automatic caches, with their input and their bill (``None``: nothing has a price)."""

    sessions: int
    requests: int
    unpriced: int
    input_tokens: int
    bill: int | None
    bounds: tuple[CacheBound, ...]


class _PricedRow(msgspec.Struct):
    """A row of a session with its verdict and its rates."""

    request: Request
    verdict: Verdict
    usage: Usage
    card: RateCard | None
    pause: float | None

    @property
    def extra(self) -> int | None:
        """Picodollars that a token costs fresh beyond read."""
        if self.card is None:
            return None
        return self.card.fresh - (self.card.fresh if self.card.read is None else self.card.read)


def is_automatic(session: Session) -> bool:
    """Whether only counters tell of its prompts, and nothing was written: its provider keeps them by itself."""
    usages = [request.usage for request in session.requests if request.usage is not None]
    if any(request.prompt is not None for request in session.requests):
        return False
    if any(usage.write for usage in usages):
        return False
    told = any(usage.read is not None for usage in usages)
    return any(usage.read for usage in usages) or (told and not has_markers(session))


def bounds(sessions: Iterable[Session]) -> CacheBounds | None:
    """The bounds over those of these sessions whose caches are automatic; ``None`` where there are none."""
    chosen = [session for session in sessions if is_automatic(session)]
    lanes = [lane for session in chosen for lane in _lanes(session)]
    rows = [row for _, lane in lanes for row in lane if row.request.counted]
    if not rows:
        return None
    paid = [default_book().price(row.request)[0] for row in rows]
    known = [cost for cost in paid if cost is not None]
    return CacheBounds(
        sessions=len(chosen),
        requests=len(rows),
        unpriced=len(paid) - len(known),
        input_tokens=sum(row.usage.total_input or 0 for row in rows),
        bill=sum(known) if known else None,
        bounds=tuple(_every_bound(rows, lanes)),
    )


def _lanes(session: Session) -> Iterator[tuple[Session, list[_PricedRow]]]:
    book = default_book()
    found: dict[str, list[_PricedRow]] = {}
    for request, verdict in zip(session.requests, diagnose(session).verdicts, strict=True):
        if request.usage is None or request.usage.total_input is None:
            continue
        lane = found.setdefault(request.lane, [])
        before = lane[-1].request if lane else None
        pause = None
        if before is not None and request.start is not None:
            ended = before.end if before.end is not None else before.start
            pause = None if ended is None else (request.start - ended) / SECOND
        lane.append(_PricedRow(request, verdict, request.usage, book.card_for(request), pause))
    for lane in found.values():
        yield session, lane


def _every_bound(
    rows: Sequence[_PricedRow], lanes: Sequence[tuple[Session, Sequence[_PricedRow]]]
) -> Iterator[CacheBound]:
    lost = [row for row in rows if row.verdict.kind == "miss" and row.verdict.lost]
    yield _sum("no-loss", "no loss at all", lost, (), "This is the most that any change of caching can save.")
    for name, (title, causes) in FAMILIES.items():
        open_rows = [row for row in lost if _open(row.verdict, causes)]
        if not open_rows:
            continue
        sure = [row for row in open_rows if _sure(row.verdict, causes)]
        yield (
            _retention(title, open_rows, sure)
            if name == "retention"
            else _sum(name, title, open_rows, sure, CONDITIONS[name])
        )
    yield from _pinned(rows, lanes)
    for limit in LIMITS:
        found = _compacted(limit, lanes)
        if found is not None:
            yield found


def _open(verdict: Verdict, causes: frozenset[str]) -> bool:
    return verdict.cause in causes or not causes.isdisjoint(verdict.alternatives)


def _sure(verdict: Verdict, causes: frozenset[str]) -> bool:
    """Whether nothing but these can have been the cause."""
    return verdict.cause in causes and verdict.evidence != "unexplained" and causes.issuperset(verdict.alternatives)


def _sum(
    name: str, title: str, most: Sequence[_PricedRow], least: Sequence[_PricedRow], condition: str = ""
) -> CacheBound:
    only_most = name == "no-loss"
    dearest = _price(most)
    return CacheBound(
        name=name,
        title=title,
        rows=len(most),
        least_tokens=None if only_most else sum(row.verdict.lost for row in least),
        most_tokens=sum(row.verdict.lost for row in most),
        least=None if only_most or dearest is None else _price(least),
        most=dearest,
        condition=condition,
    )


def _price(rows: Sequence[_PricedRow]) -> int | None:
    priced = [row.verdict.lost * row.extra for row in rows if row.extra is not None]
    return sum(priced) if priced or not rows else None


def _retention(title: str, rows: Sequence[_PricedRow], sure: Sequence[_PricedRow]) -> CacheBound:
    """Only what a longer lifetime is offered for by the rules of its day, and only pauses that it would outlast."""
    offered = [row for row in rows if _could_last(row)]
    found = _sum(
        "retention",
        title,
        offered,
        [row for row in sure if _could_last(row)],
        "The provider says up to so long, and promises nothing.",
    )
    if offered:
        return found
    kept = [rules for row in rows if (rules := _rules(row.request)) is not None]
    reason = (
        "the rules of its day keep every prompt that long already, and it was lost all the same"
        if kept and all(_in_force(rules) >= DAY for rules in kept)
        else "no rules are known that offer it"
        if not kept
        else "its provider offers no other lifetime"
    )
    return msgspec.structs.replace(found, rows=len(rows), reason=reason)


def _could_last(row: _PricedRow) -> bool:
    rules = _rules(row.request)
    if rules is None:
        return False
    return _in_force(rules) < rules.ttl_long and (row.pause is None or row.pause <= rules.ttl_long)


def _in_force(rules: ProviderRules) -> int:
    return rules.ttl_long if rules.ttl_unasked == "long" else rules.ttl_short


def _rules(request: Request) -> ProviderRules | None:
    try:
        return rules_for(request.provider, request.model, request.start)
    except ValueError:
        return None


def _pinned(rows: Sequence[_PricedRow], lanes: Sequence[tuple[Session, Sequence[_PricedRow]]]) -> Iterator[CacheBound]:
    """Every lane with its first model: the same counters at that model's prices, and at most what the switches lost."""
    switched = [lane for _, lane in lanes if len({(row.request.provider, row.request.model) for row in lane}) > 1]
    if not switched:
        return
    book = default_book()
    difference: int | None = 0
    changed: list[_PricedRow] = []
    for lane in switched:
        first = lane[0].request
        for before, row in zip([lane[0], *lane], lane, strict=False):
            own = book.card_for(row.request)
            other = book.card_for(msgspec.structs.replace(row.request, model=first.model, provider=first.provider))
            paid = None if own is None else input_cost(own, row.usage)
            instead = None if other is None else input_cost(other, row.usage)
            if own is None or other is None or paid is None or instead is None or difference is None:
                difference = None
            elif row.request.counted:
                difference += paid - instead + (row.usage.output or 0) * (own.output - other.output)
            if row.request.model != before.request.model and row.verdict.kind == "miss":
                changed.append(row)
    lost = _price(changed)
    yield CacheBound(
        name="pin-model",
        title="first model only",
        rows=len(changed),
        least_tokens=0,
        most_tokens=sum(row.verdict.lost for row in changed),
        least=difference,
        most=None if difference is None or lost is None else difference + lost,
        condition="The first model would have done the work with as many requests and as long answers.",
    )


def _compacted(limit: int, lanes: Sequence[tuple[Session, Sequence[_PricedRow]]]) -> CacheBound | None:
    """Compaction at a limit: prompts lose a front that was read at least as far as the row read, at most as far as it
    did not. A summary costs its request, a front sent anew, and what is read again."""
    least: int | None = 0
    most: int | None = 0
    least_tokens = most_tokens = rows = 0
    for session, lane in lanes:
        left = _left_after(session, lane)
        for cheap, slack in ((False, SLACK), (True, -SLACK)):
            cost, tokens, count = _compacted_lane(lane, limit, max(left + slack, 0), cheap)
            if cheap:
                most = None if most is None or cost is None else most + cost
                most_tokens += tokens
                rows += count
            else:
                least = None if least is None or cost is None else least + cost
                least_tokens += tokens
    if not rows:
        return None
    return CacheBound(
        name=f"compact-{limit}",
        title=f"compact at {limit:,}",
        rows=rows,
        least_tokens=least_tokens,
        most_tokens=most_tokens,
        least=least,
        most=most,
        condition="A summary lets the agent go on as it did, after it has read again what it needs.",
    )


def _left_after(session: Session, lane: Sequence[_PricedRow]) -> int:
    """Tokens of a prompt right after a compaction: the lane's own median, else its head and what its harness keeps."""
    totals = [row.usage.total_input or 0 for row in lane]
    own = [after for before, after in pairwise(totals) if after * SHRUNK < before]
    if own:
        return int(median(own))
    head = min((row.usage.read for row in lane if row.usage.read), default=0)
    return min(head, totals[0]) + KEPT.get(session.harness or "", MOST_KEPT // 2)


def _compacted_lane(lane: Sequence[_PricedRow], limit: int, left: int, cheap: bool) -> tuple[int | None, int, int]:
    """What compacting one lane saves (picodollars, ``None`` without prices), the tokens that are not sent, and how many
    summaries there are: each part taken as favourable as it can be with ``cheap``, else as unfavourable."""
    saved: int | None = 0
    tokens = gone = summaries = before = 0
    anew = False
    for row in lane:
        total, read = row.usage.total_input or 0, row.usage.read or 0
        if total * SHRUNK < before:
            gone, anew = 0, False  # the recorded run compacted there
        if row.request.counted:
            dropped = min(gone, total)
            tokens += dropped
            price = _dropped(row, total, read, dropped, cheap)
            if anew:
                price = _minus(price, 0 if cheap else _anew(row, total - dropped, read))
            saved = None if saved is None or price is None else saved + price
        anew = False
        now = total - gone
        if now > limit and now > SHRUNK * left and row is not lane[-1]:
            summaries += 1
            saved = _minus(saved, _summary(row, now, left, cheap))
            gone, anew = total - left, True
        before = total
    return saved, tokens, summaries


def _dropped(row: _PricedRow, total: int, read: int, dropped: int, cheap: bool) -> int | None:
    """The price of so many tokens of a row: fresh ones first where that is favourable, else those that were read."""
    if row.card is None:
        return None
    fresh = min(dropped, total - read) if cheap else max(0, dropped - read)
    return input_cost(row.card, Usage(fresh=fresh, read=dropped - fresh)) or 0


def _anew(row: _PricedRow, total: int, read: int) -> int | None:
    """What a prompt of so many tokens costs more when nothing of it is read."""
    return None if row.extra is None else min(total, read) * row.extra


def _summary(row: _PricedRow, total: int, left: int, cheap: bool) -> int | None:
    if row.card is None:
        return None
    asked = input_cost(row.card, Usage(read=total) if cheap else Usage(fresh=total)) or 0
    written = FEWEST_WRITTEN if cheap else WRITTEN
    again = 0 if cheap else REREAD_TOKENS * row.card.fresh + left * (row.card.read or row.card.fresh)
    return asked + written * row.card.output + again


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other
