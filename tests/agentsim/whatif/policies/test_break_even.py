"""When paying more for a write is worth it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from agentsim.rules.prices import RateCard
from agentsim.whatif.policies.break_even import (
    hour_costs_more,
    reads_to_pay_a_write,
    refreshes_to_lose,
    refreshes_worth,
)


def card(read: int, short: int = 1_250, hour: int | None = 2_000) -> RateCard:
    """Prices where ordinary input costs 1,000."""
    return RateCard(fresh=1_000, output=5_000, read=read, write_short=short, write_long=hour)


def test_one_read_pays_a_short_write_and_two_a_long_one() -> None:
    # 1.25 + 0.1 < 2; 2 + 0.1 > 2 but 2 + 0.2 < 3.
    assert reads_to_pay_a_write(card(100)) == 1
    assert reads_to_pay_a_write(card(100), hour=True) == 2
    # At half the price of a read it is still two: 2 + 0.05 > 2.
    assert reads_to_pay_a_write(card(50), hour=True) == 2
    assert reads_to_pay_a_write(card(100, hour=2_500), hour=True) == 2  # 2.5 + 0.2 < 3
    assert reads_to_pay_a_write(card(1_000)) is None


@pytest.mark.parametrize("hour", [False, True])
@pytest.mark.parametrize("read", [20, 25, 50, 100, 250])
def test_the_number_of_reads_is_the_least_that_pays(read: int, hour: bool) -> None:
    prices = card(read)
    count = reads_to_pay_a_write(prices, hour=hour)
    assert count is not None
    write = 2_000 if hour else 1_250
    assert write + count * read < (count + 1) * 1_000
    assert count == 1 or write + (count - 1) * read >= count * 1_000


@pytest.mark.parametrize(("read", "refreshes"), [(100, Fraction(23, 2)), (50, 24), (25, 49)])
def test_refreshes_that_cost_one_rewrite(read: int, refreshes: Fraction) -> None:
    assert refreshes_to_lose(card(read)) == refreshes
    assert refreshes_worth(card(read)) == int(refreshes)


def test_an_hour_is_worth_nineteen_refreshes() -> None:
    assert refreshes_worth(card(100), hour=True) == 19
    assert refreshes_worth(RateCard(fresh=1, output=1)) == 0


def test_a_fleet_pays_for_an_hour_when_40_per_cent_of_its_writes_are_rewrites() -> None:
    prices = card(100)
    # 0.75 · W - 1.9 · S: nothing at S / W = 39.47 %.
    assert hour_costs_more(prices, 1_900, 750) == 0
    assert (hour_costs_more(prices, 1_000, 394) or 0) > 0
    assert (hour_costs_more(prices, 1_000, 395) or 0) < 0
    assert hour_costs_more(card(100, hour=None), 1, 1) is None
