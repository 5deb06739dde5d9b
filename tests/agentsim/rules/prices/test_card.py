"""Costs of a usage at given prices: published cases, to the last digit."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.money import dollars
from agentsim.core.session import Usage
from agentsim.rules.prices import RateCard, cost, equivalents, input_cost, rate_card, storage_cost

MILLION = 10**6


def at(year: int, month: int, day: int, hour: int = 12) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp()) * 10**9


def spent(model: str, usage: Usage, when: int = at(2026, 7, 28)) -> Decimal:
    card = rate_card("anthropic", model, when, usage.total_input or 0)
    assert card is not None
    paid = cost(card, usage)
    assert paid is not None
    return dollars(paid)


def test_written_tokens_are_charged_once():
    # Sonnet 3.7: $3 fresh, $3.75 written, $15 out. Charging the writes as fresh input too gave $0.091311.
    usage = Usage(fresh=3, write_short=12_304, read=0, output=550)
    right = (3 * 3 + 12_304 * Decimal("3.75") + 550 * 15) / MILLION
    assert spent("claude-3-7-sonnet-20250219", usage, at(2025, 4, 8)) == right == Decimal("0.054399")


def test_an_hour_costs_twice_the_input():
    # Opus 5: $10 for a million tokens written for an hour; at the five-minute price it would be $2.15086875.
    right = 344_139 * Decimal(10) / MILLION
    assert spent("claude-opus-5", Usage(fresh=0, write_long=344_139, read=0, output=0)) == right == Decimal("3.44139")
    assert spent("claude-opus-5", Usage(write_short=344_139)) == Decimal("2.15086875")


def test_above_the_threshold_all_tokens_cost_more_writes_too():
    # Sonnet 4.5 above 200,000 tokens: writes $7.50 instead of $3.75.
    written = Usage(fresh=0, write_short=5_000, read=196_000, output=0)
    card = rate_card("anthropic", "claude-sonnet-4-5", at(2026, 8, 9), written.total_input or 0)
    assert card is not None
    assert written.total_input == 201_000
    assert dollars(5_000 * (card.write_short or 0)) == 5_000 * Decimal("7.5") / MILLION == Decimal("0.0375")
    # An hour's write there is four times the ordinary input price: $12.
    assert card.write_long == 12 * MILLION


@pytest.mark.parametrize(
    ("model", "threshold", "below", "above"),
    [("claude-sonnet-4-5", 200_000, 3, 6), ("claude-haiku-5-5", 100_000, Decimal("0.1"), Decimal("0.5"))],
)
def test_exactly_the_threshold_is_still_the_lower_tier(model, threshold, below, above):
    when = at(2026, 11, 20)
    low, high = (rate_card("anthropic", model, when, size) for size in (threshold, threshold + 1))
    assert low is not None
    assert high is not None
    assert (low.fresh, high.fresh) == (below * MILLION, above * MILLION)


def test_reads_and_writes_count_towards_the_threshold():
    usage = Usage(fresh=1, write_short=40_000, read=60_000, output=0)
    card = rate_card("anthropic", "claude-haiku-5-5", at(2026, 11, 20), usage.total_input or 0)
    assert card is not None
    assert card.read == Decimal("0.05") * MILLION  # 100,001 tokens: the higher tier


def test_what_a_provider_does_not_price_costs_what_input_costs():
    card = RateCard(fresh=10, output=50)
    assert cost(card, Usage(fresh=1, read=2, write_short=3, write_other=4, write_long=5, output=1)) == 15 * 10 + 50


def test_an_hours_write_without_a_price_is_not_priced_as_five_minutes():
    card = RateCard(fresh=10, output=50, read=1, write_short=12)
    assert cost(card, Usage(fresh=1, write_long=5, output=1)) is None
    assert input_cost(card, Usage(fresh=1, write_long=0)) == 10
    assert equivalents(card, Usage(fresh=1, write_long=5)) is None


def test_a_write_of_unknown_lifetime_is_the_short_one():
    card = RateCard(fresh=10, output=50, read=1, write_short=12, write_long=20)
    assert input_cost(card, Usage(write_other=7)) == 7 * 12


def test_nothing_reported_is_unknown_not_free():
    card = RateCard(fresh=10, output=50)
    assert cost(card, Usage()) is None
    assert input_cost(card, Usage(output=3)) is None
    assert cost(card, Usage(output=3)) is None  # input unknown: no bill
    assert cost(card, Usage(fresh=0)) == 0


def test_equivalents_weigh_each_kind_by_its_price():
    card = RateCard(
        fresh=5 * MILLION, output=25 * MILLION, read=MILLION // 2, write_short=6_250_000, write_long=10 * MILLION
    )
    usage = Usage(fresh=3, write_short=1_000, write_long=100, read=20_000, output=999)
    # 3 + 1,000 x 1.25 + 100 x 2 + 20,000 x 0.1 = 3,453 tokens; the output is not part of it.
    assert equivalents(card, usage) == 3_453 * MILLION


def test_equivalents_round_half_to_even():
    third = RateCard(fresh=3, output=0, read=1)
    assert equivalents(third, Usage(read=1)) == 333_333
    assert equivalents(third, Usage(read=2)) == 666_667
    half = RateCard(fresh=2 * MILLION, output=0, read=1)
    assert [equivalents(half, Usage(read=n)) for n in (1, 2, 3, 5)] == [0, 1, 2, 2]  # 0.5, 1, 1.5, 2.5
    assert equivalents(RateCard(fresh=0, output=0), Usage(fresh=5)) is None


def test_storage_rounds_half_to_even():
    hourly = RateCard(fresh=1, output=1, storage=1)  # a picodollar for a token kept for an hour
    kept = (0, 1, 1_799, 1_800, 1_801, 3_600, 5_399, 5_400, 5_401, 9_000, 12_600, 16_200)
    assert [storage_cost(hourly, seconds) for seconds in kept] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 4, 4]
    assert storage_cost(RateCard(fresh=1, output=1), 0) == 0
    assert storage_cost(RateCard(fresh=1, output=1), 1) is None


counts = st.integers(min_value=0, max_value=10**9)
usages = st.builds(Usage, fresh=counts, write_short=counts, write_long=counts, read=counts, output=counts)
prices = st.integers(min_value=0, max_value=10**9)
cards = st.builds(RateCard, fresh=prices, output=prices, read=prices, write_short=prices, write_long=prices)


@given(card=cards, one=usages, other=usages)
def test_two_requests_cost_what_their_sum_costs(card, one, other):
    both = Usage(
        **{name: getattr(one, name) + getattr(other, name) for name in ("fresh", "write_short", "write_long", "read")}
    )
    apart = (input_cost(card, one) or 0) + (input_cost(card, other) or 0)
    assert input_cost(card, both) == apart


@given(usage=usages, card=cards, factor=st.integers(min_value=1, max_value=1000))
def test_costs_grow_with_the_prices(usage, card, factor):
    dearer = RateCard(
        **{name: getattr(card, name) * factor for name in RateCard.__struct_fields__ if name != "storage"}
    )
    assert cost(dearer, usage) == (cost(card, usage) or 0) * factor
    assert equivalents(dearer, usage) == equivalents(card, usage)
