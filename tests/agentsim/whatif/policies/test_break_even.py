"""When paying more for a write is worth it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from agentsim.rules.prices import RateCard
from agentsim.whatif.policies.break_even import refreshes_to_lose, refreshes_worth


def card(read: int, short: int = 1_250, hour: int | None = 2_000) -> RateCard:
    """Prices where ordinary input costs 1,000."""
    return RateCard(fresh=1_000, output=5_000, read=read, write_short=short, write_long=hour)


@pytest.mark.parametrize(("read", "refreshes"), [(100, Fraction(23, 2)), (50, 24), (25, 49)])
def test_refreshes_that_cost_one_rewrite(read: int, refreshes: Fraction) -> None:
    assert refreshes_to_lose(card(read)) == refreshes
    assert refreshes_worth(card(read)) == int(refreshes)


def test_an_hour_is_worth_nineteen_refreshes() -> None:
    assert refreshes_worth(card(100), hour=True) == 19
    assert refreshes_worth(RateCard(fresh=1, output=1)) == 0
