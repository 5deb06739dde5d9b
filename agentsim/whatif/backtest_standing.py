"""How policies stand in the backtest (``python -m benchmarks.whatif``): no dollars are told of one that fails there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

LEAST_RIGHT = (99, 100)
"""The share of told savings above 2 % of the bill whose sign must be right."""
MOST_MEDIAN = 300
"""Hundredths of a percent of the bill by which the median prediction may be off."""
LEAST_COVERED = 85
"""Percent of the true savings that must lie in their intervals."""
FEWEST = 10
"""Told savings above 2 % of the bill without which a policy counts as not measured."""


class BacktestStanding(msgspec.Struct, frozen=True, gc=False):
    """Figures of the form of log in which a policy does worst: ``right`` signs ``of`` so many, the ``median`` error in
    hundredths of a percent of the bill, and how many percent of the true savings lie in their intervals."""

    right: int
    of: int
    median: int
    covered: int

    @property
    def passes(self) -> bool:
        """Whether dollars may be told."""
        signs = self.right * LEAST_RIGHT[1] >= self.of * LEAST_RIGHT[0]
        return self.is_measured and signs and self.median <= MOST_MEDIAN and self.covered >= LEAST_COVERED

    @property
    def is_measured(self) -> bool:
        """Whether it was told often enough to say anything."""
        return self.of >= FEWEST


STANDINGS: Mapping[str, BacktestStanding] = MappingProxyType(
    {
        "compact-warm": BacktestStanding(24, 24, 156, 9),
        "keep-alive": BacktestStanding(234, 235, 0, 92),
        "keep-alive-hour": BacktestStanding(19, 19, 0, 93),
        "keep-alive-priced": BacktestStanding(135, 136, 0, 93),
        "keep-alive-steady": BacktestStanding(236, 237, 0, 92),
        "keep-alive-three": BacktestStanding(238, 238, 0, 93),
        "marker-previous": BacktestStanding(26, 27, 0, 79),
        "no-caching": BacktestStanding(755, 755, 0, 100),
        "stagger-fan-out": BacktestStanding(64, 64, 0, 92),
        "ttl-1h": BacktestStanding(362, 364, 0, 94),
        "ttl-5m": BacktestStanding(332, 334, 0, 93),
        "ttl-children-1h": BacktestStanding(197, 198, 0, 93),
        "ttl-lanes": BacktestStanding(59, 59, 0, 99),
        "ttl-main-1h": BacktestStanding(153, 156, 0, 95),
        "ttl-split": BacktestStanding(485, 485, 0, 96),
        "combine-blocks": BacktestStanding(18, 18, 4, 89),
        "compact-before-expiry": BacktestStanding(38, 38, 362, 77),
        "compact-later": BacktestStanding(135, 135, 0, 85),
        "deferred-tools": BacktestStanding(33, 33, 227, 85),
        "fixed-entries": BacktestStanding(314, 327, 0, 80),
        "free-tool-choice": BacktestStanding(24, 24, 0, 100),
        "keep-alive-own": BacktestStanding(86, 88, 0, 92),
        "marker-common": BacktestStanding(0, 0, 0, 100),
        "marker-last": BacktestStanding(5, 5, 0, 100),
        "marker-spread": BacktestStanding(18, 18, 0, 97),
        "marker-system": BacktestStanding(0, 0, 0, 100),
        "prune-at-compaction": BacktestStanding(2, 2, 0, 100),
        "prune-batched": BacktestStanding(2, 2, 0, 100),
        "tool-order": BacktestStanding(0, 4, 0, 88),
        "uncached-one-shots": BacktestStanding(163, 163, 0, 99),
        "compact-earlier": BacktestStanding(55, 55, 276, 97),
    }
)
"""Policies that were measured, as docs/whatif-benchmark.md shows them. Of others nothing is known."""


def fails(policy: str) -> bool:
    """Whether a policy was measured and failed."""
    standing = STANDINGS.get(policy)
    return standing is not None and standing.is_measured and not standing.passes


def is_unproven(policy: str) -> bool:
    """Whether a policy was not measured, or failed: no dollars are told of it."""
    standing = STANDINGS.get(policy)
    return standing is None or not standing.passes
