"""Prices of rows and of losses, and the sums over a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agentsim.core.session import Request, Row, Usage
from agentsim.core.sums import Sums, add, known, named, new_sums
from agentsim.core.verdict import Verdict
from agentsim.rules.prices import RateCard


class Loss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All losses of one cause: how many rows, how many tokens, and what those cost that are not ``unpriced``."""

    cause: str
    count: int
    tokens: int
    cost: int
    equivalents: int
    unpriced: int = 0

    @property
    def known_cost(self) -> int | None:
        """What those cost that have a price; ``None`` where none has one."""
        return known(self.cost, self.count, self.unpriced)

    @property
    def known_equivalents(self) -> int | None:
        """The same in micro-tokens."""
        return known(self.equivalents, self.count, self.unpriced)


def known_loss(losses: Sequence[Loss]) -> int | None:
    """What losses of several causes cost together; ``None`` where there are some and none of them has a price."""
    count, unpriced = sum(loss.count for loss in losses), sum(loss.unpriced for loss in losses)
    return known(sum(loss.cost for loss in losses), count, unpriced)


class Totals(Sums, frozen=True, kw_only=True, gc=False):
    """Sums over rows, what was lost to which cause, and what the verdicts say."""

    unreported: int = 0
    misses: int = 0
    lost_tokens: int = 0
    lost_cost: int = 0
    lost_equivalents: int = 0
    losses: tuple[Loss, ...] = ()
    unlogged: int = 0
    unlogged_cost: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    predictions: tuple[tuple[str, int], ...] = ()

    @property
    def known_lost_cost(self) -> int | None:
        """What was lost where it has a price; ``None`` where something was lost and nothing of it has one."""
        return known_loss(self.losses)

    @property
    def known_lost_equivalents(self) -> int | None:
        """The same in micro-tokens."""
        return None if self.known_lost_cost is None else self.lost_equivalents

    @property
    def known_unlogged_cost(self) -> int | None:
        """The least that unlogged requests cost; ``None`` where there are some and nothing is known of their prices."""
        return known(self.unlogged_cost, self.unlogged, 0 if self.unlogged_cost else self.unlogged)


def price_of_loss(lost: int, usage: Usage, rates: RateCard) -> int | None:
    """What lost tokens cost beyond reading them: they were written (the longest lifetime first) or sent fresh.

    ``None`` when one of the prices is not known.
    """
    if rates.read is None:
        return None
    left, cost = lost, 0
    for count, rate in (
        (usage.write_long, rates.write_long),
        (usage.write_short, rates.write_short),
        (usage.write_other, rates.write_short),
        (usage.fresh, rates.fresh),
    ):
        part = min(left, count or 0)
        if part:
            if rate is None:
                return None
            cost += part * (rate - rates.read)
            left -= part
    return max(0, cost)


def price_of_unlogged(base: int, added: int, hour: bool, rates: RateCard) -> int | None:
    """The least that an unlogged call cost: it read what was warm and wrote what it added."""
    write = rates.write_long if hour else rates.write_short
    if rates.read is None or write is None:
        return None
    return base * rates.read + added * write


def unlogged_base(verdict: Verdict, usage: Usage) -> int:
    """The tokens that an unlogged call must at least have read: what was warm before it added its own."""
    return (verdict.expected or 0) if verdict.unlogged else usage.read or 0


def in_equivalents(cost: int, rates: RateCard) -> int:
    """Picodollars as micro-tokens of ordinary input, rounded half up."""
    return (cost * 2_000_000 + rates.fresh) // (2 * rates.fresh) if rates.fresh else 0


def add_up(requests: Sequence[Request], rows: Iterable[Row], verdicts: Iterable[Verdict], unlogged_cost: int) -> Totals:
    """Sum the counted rows of a session."""
    found = new_sums()
    unreported = 0
    losses: dict[str, list[int]] = {}
    kinds: dict[str, int] = {}
    predictions: dict[str, int] = {}
    unlogged = 0
    for request, row, verdict in zip(requests, rows, verdicts, strict=True):
        if not request.counted:
            continue
        add(found, row.usage, row.cost, row.equivalents)
        unreported += verdict.kind == "unreported"
        kinds[verdict.kind] = kinds.get(verdict.kind, 0) + 1
        predictions[verdict.prediction] = predictions.get(verdict.prediction, 0) + 1
        unlogged += verdict.unlogged is not None
        if verdict.kind == "miss":
            sums = losses.setdefault(verdict.code, [0, 0, 0, 0, 0])
            sums[0] += 1
            sums[1] += verdict.lost
            if verdict.lost_cost is None:
                sums[4] += 1
            else:
                sums[2] += verdict.lost_cost
                sums[3] += verdict.lost_equivalents or 0
    items = [
        Loss(cause=cause, count=s[0], tokens=s[1], cost=s[2], equivalents=s[3], unpriced=s[4])
        for cause, s in losses.items()
    ]
    items.sort(key=lambda loss: (-loss.cost, -loss.tokens, loss.cause))
    return Totals(
        **named(found),
        unreported=unreported,
        misses=sum(loss.count for loss in items),
        lost_tokens=sum(loss.tokens for loss in items),
        lost_cost=sum(loss.cost for loss in items),
        lost_equivalents=sum(loss.equivalents for loss in items),
        losses=tuple(items),
        unlogged=unlogged,
        unlogged_cost=unlogged_cost,
        kinds=tuple(sorted(kinds.items())),
        predictions=tuple(sorted(predictions.items())),
    )
