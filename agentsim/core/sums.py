"""What several requests consumed together: the one way in which tokens and money of requests are added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agentsim.core.session import Usage


class Sums(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sums over requests. Tokens; ``cost`` in picodollars, ``equivalents`` in micro-tokens of ordinary input.

    ``unpriced`` requests have no known price and are in neither: what is known of the sums, which is nothing where no
    request has a price, is ``known_cost`` and ``known_equivalents``.
    """

    requests: int = 0
    fresh: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    cost: int = 0
    equivalents: int = 0
    unpriced: int = 0

    @property
    def known_cost(self) -> int | None:
        """The cost of what has a price; ``None`` where there are requests and none of them has one."""
        return known(self.cost, self.requests, self.unpriced)

    @property
    def known_equivalents(self) -> int | None:
        """The equivalents of what has a price; ``None`` where there are requests and none of them has one."""
        return known(self.equivalents, self.requests, self.unpriced)

    @property
    def total_input(self) -> int:
        """All input tokens: what a hit rate is a share of."""
        return self.read + self.written + self.fresh

    @property
    def hit_rate(self) -> tuple[int, int]:
        """Read tokens and all input tokens, as two whole numbers, so that sums of sums stay exact."""
        return self.read, self.total_input


FIELDS = Sums.__struct_fields__
"""The order of sums that are still being added up."""


def known(amount: int, count: int, unpriced: int) -> int | None:
    """A sum over ``count`` things of which ``unpriced`` are not in it; ``None`` where that is all of them."""
    return amount if unpriced < count or not count else None


def known_sum(amounts: Iterable[int | None]) -> int | None:
    """The sum of those amounts that are known; ``None`` where there are some and none of them is. Of none it is 0."""
    total = there = unknown = 0
    for amount in amounts:
        there += 1
        unknown += amount is None
        total += amount or 0
    return known(total, there, unknown)


def new_sums() -> list[int]:
    """Sums of nothing yet, in the order of :data:`FIELDS`."""
    return [0] * len(FIELDS)


def add(sums: list[int], usage: Usage, cost: int | None, equivalents: int | None) -> None:
    """Add one request to ``sums``, which may have more numbers behind them. ``cost`` is in picodollars, ``equivalents``
    in micro-tokens."""
    sums[0] += 1
    sums[1] += usage.fresh or 0
    sums[2] += (usage.write_short or 0) + (usage.write_long or 0) + (usage.write_other or 0)
    sums[3] += usage.read or 0
    sums[4] += usage.output or 0
    if cost is None:
        sums[7] += 1
    else:
        sums[5] += cost
        sums[6] += equivalents or 0


def named(sums: Sequence[int]) -> dict[str, int]:
    """Sums by the names of their fields."""
    return dict(zip(FIELDS, sums, strict=True))


def as_sums(sums: Sequence[int]) -> Sums:
    """Sums as a record."""
    return Sums(**named(sums))
