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
        "ttl-5m": BacktestStanding(33, 33, 0, 98),
        "ttl-1h": BacktestStanding(241, 242, 0, 89),
        "ttl-lanes": BacktestStanding(42, 42, 0, 96),
        "ttl-main-1h": BacktestStanding(26, 26, 0, 92),
        "ttl-children-1h": BacktestStanding(132, 133, 0, 88),
        "ttl-split": BacktestStanding(328, 328, 0, 94),
        "keep-alive": BacktestStanding(20, 20, 0, 89),
        "keep-alive-priced": BacktestStanding(12, 12, 0, 91),
        "keep-alive-steady": BacktestStanding(21, 21, 0, 89),
        "keep-alive-three": BacktestStanding(166, 167, 0, 89),
        "keep-alive-hour": BacktestStanding(17, 17, 0, 100),
        "keep-alive-own": BacktestStanding(142, 145, 0, 93),
        "marker-previous": BacktestStanding(18, 18, 0, 92),
        "marker-spread": BacktestStanding(18, 18, 0, 95),
        "marker-last": BacktestStanding(5, 5, 0, 100),
        "stagger-fan-out": BacktestStanding(45, 45, 0, 86),
        "combine-blocks": BacktestStanding(11, 11, 4, 89),
        "deferred-tools": BacktestStanding(33, 33, 227, 85),
        "deferred-tools-bare": BacktestStanding(1, 1, 0, 97),
        "fixed-entries": BacktestStanding(316, 331, 0, 72),
        "tool-order": BacktestStanding(0, 4, 0, 88),
        "free-tool-choice": BacktestStanding(24, 24, 0, 100),
        "uncached-one-shots": BacktestStanding(164, 164, 0, 99),
        "no-caching": BacktestStanding(502, 502, 0, 100),
        "compact-warm": BacktestStanding(15, 15, 162, 7),
        "compact-earlier": BacktestStanding(57, 57, 275, 89),
        "compact-later": BacktestStanding(135, 135, 0, 85),
        "compact-before-expiry": BacktestStanding(38, 38, 362, 90),
    }
)
"""Policies that were measured, as docs/whatif-benchmark.md shows them (56 sessions). Of others nothing is known."""


def fails(policy: str) -> bool:
    """Whether a policy was measured and failed."""
    standing = STANDINGS.get(policy)
    return standing is not None and standing.is_measured and not standing.passes


def is_unproven(policy: str) -> bool:
    """Whether a policy was not measured, or failed: no dollars are told of it."""
    standing = STANDINGS.get(policy)
    return standing is None or not standing.passes
