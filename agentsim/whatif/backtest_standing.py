"""How policies stand in the backtest (``python -m benchmarks.whatif``): no dollars are told of one that fails there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

LEAST_RIGHT = (99, 100)
"""The share of told savings above 2 % of the bill whose sign must be right."""
MOST_MEDIAN = 300
"""Hundredths of a percent of the bill by which the median prediction may be off."""


class BacktestStanding(msgspec.Struct, frozen=True, gc=False):
    """Figures of the form of log in which a policy does worst: ``right`` signs ``of`` so many, the ``median`` error in
    hundredths of a percent of the bill."""

    right: int
    of: int
    median: int

    @property
    def passes(self) -> bool:
        """Whether dollars may be told."""
        return self.right * LEAST_RIGHT[1] >= self.of * LEAST_RIGHT[0] and self.median <= MOST_MEDIAN


STANDINGS: Mapping[str, BacktestStanding] = MappingProxyType(
    {
        "ttl-5m": BacktestStanding(24, 24, 0),
        "ttl-1h": BacktestStanding(25, 25, 0),
        "ttl-lanes": BacktestStanding(3, 3, 0),
        "ttl-main-1h": BacktestStanding(12, 12, 0),
        "ttl-children-1h": BacktestStanding(12, 12, 0),
        "ttl-split": BacktestStanding(33, 34, 0),
        "keep-alive": BacktestStanding(16, 16, 0),
        "keep-alive-priced": BacktestStanding(11, 11, 0),
        "keep-alive-steady": BacktestStanding(15, 15, 0),
        "keep-alive-three": BacktestStanding(13, 13, 0),
        "stagger-fan-out": BacktestStanding(6, 6, 0),
        "marker-previous": BacktestStanding(1, 2, 0),
        "no-caching": BacktestStanding(54, 54, 0),
        "compact-warm": BacktestStanding(1, 1, 556),
        "compact-earlier": BacktestStanding(2, 3, 733),
    }
)
"""Policies that were measured, as docs/whatif-benchmark.md shows them (56 sessions). Of others nothing is known."""


def fails(policy: str) -> bool:
    """Whether a policy was measured and failed."""
    standing = STANDINGS.get(policy)
    return standing is not None and not standing.passes


def is_unproven(policy: str) -> bool:
    """Whether a policy was not measured, or failed: no dollars are told of it."""
    standing = STANDINGS.get(policy)
    return standing is None or not standing.passes
