"""Accounting that others got wrong: published rows, to the last digit, and what may never happen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.sse import read_stream
from agentsim.core.money import dollars
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow
from agentsim.rules.prices import RateCard, cost, equivalents, input_cost, rate_card, storage_cost

WHEN = 1_785_240_000 * 10**9  # 2026-07-28

counts = st.none() | st.integers(min_value=0, max_value=10**12)
usages = st.builds(
    Usage, fresh=counts, read=counts, write_short=counts, write_long=counts, write_other=counts, output=counts
)
prices = st.integers(min_value=0, max_value=10**9)
maybe = st.none() | prices
cards = st.builds(RateCard, fresh=prices, output=prices, read=maybe, write_short=maybe, write_long=maybe, storage=maybe)


@given(card=cards, usage=usages, kept=st.integers(min_value=0, max_value=10**15))
def test_no_cost_is_ever_negative(card, usage, kept):
    for amount in (cost(card, usage), input_cost(card, usage), equivalents(card, usage), storage_cost(card, kept)):
        assert amount is None or amount >= 0


@given(card=cards, usage=usages)
def test_an_hours_write_is_never_priced_as_five_minutes(card, usage):
    moved = Usage(fresh=usage.fresh, read=usage.read, write_long=usage.write_short or 0, output=usage.output)
    paid = input_cost(card, moved)
    if paid is not None and card.write_long is not None:
        rest = (usage.fresh or 0) * card.fresh + (usage.read or 0) * (card.fresh if card.read is None else card.read)
        assert paid == rest + (usage.write_short or 0) * card.write_long
    elif (usage.write_short or 0) and card.write_short is not None:
        assert paid is None


@given(kept=st.integers(min_value=0, max_value=10**15), price=prices)
def test_storage_is_rounded_to_the_nearest_picodollar(kept, price):
    paid = storage_cost(RateCard(fresh=1, output=1, storage=price), kept)
    assert paid is not None
    assert abs(paid * 3600 - kept * price) * 2 <= 3600


def test_written_tokens_are_charged_once_and_an_hour_at_its_own_price():
    # Sonnet 3.7: 3 fresh at $3, 12,304 written at $3.75, 550 of output at $15, all for a million.
    card = rate_card("anthropic", "claude-3-7-sonnet-20250219", 1_744_113_600 * 10**9, 12_307)
    assert card is not None
    once = cost(card, Usage(fresh=3, write_short=12_304, read=0, output=550))
    assert once is not None
    assert dollars(once) == Decimal("0.000009") + Decimal("0.04614") + Decimal("0.00825") == Decimal("0.054399")
    assert dollars(once + 12_304 * card.fresh) == Decimal("0.091311")  # what charging them twice would say
    # Opus 5: an hour costs $10 for a million, five minutes $6.25.
    card = rate_card("anthropic", "claude-opus-5", WHEN, 344_139)
    assert card is not None
    hour = cost(card, Usage(write_long=344_139))
    assert hour is not None
    assert dollars(hour) == Decimal("3.44139")
    assert dollars(344_139 * (card.write_short or 0)) == Decimal("2.15086875")


def sse(*events: Mapping[str, object]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def test_cached_tokens_of_a_streamed_answer_are_never_fresh():
    # A stream tells its input at the start, and tells all of it again, or only the output, at the end.
    first = {
        "input_tokens": 7,
        "cache_read_input_tokens": 62_104,
        "cache_creation_input_tokens": 900,
        "output_tokens": 1,
    }
    split = {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 900}}
    start = {"type": "message_start", "message": {"id": "m", "model": "claude-opus-5", "usage": {**first, **split}}}
    for last in ({"output_tokens": 250}, {**first, **split, "output_tokens": 250}):
        usage = read_stream(sse(start, {"type": "message_delta", "usage": last, "delta": {}})).usage
        assert usage is not None
        assert (usage.fresh, usage.read, usage.write_long, usage.output) == (7, 62_104, 900, 250)
        assert not usage.write_short
        card = rate_card("anthropic", "claude-opus-5", WHEN, usage.total_input or 0)
        assert card is not None
        assert cost(card, usage) == 7 * 5_000_000 + 62_104 * 500_000 + 900 * 10_000_000 + 250 * 25_000_000


@pytest.mark.parametrize(("read", "write"), [(101, None), (60, 41), (None, 101), (10**12, 0)])
def test_more_cached_than_sent_is_told_and_not_bent_until_it_fits(read, write):
    with pytest.raises(BadRow, match="more input was read from and written to a cache than there was input"):
        input_includes_cached(100, read, write, 5)


@given(total=st.integers(0, 10**9), read=counts, write=counts)
def test_parts_of_an_inclusive_count_never_exceed_it(total, read, write):
    try:
        usage = input_includes_cached(total, read, write, 1)
    except BadRow:
        assert (read or 0) + (write or 0) > total
        return
    assert usage.fresh is not None
    assert usage.fresh >= 0
    assert usage.total_input == total


@pytest.mark.parametrize(
    ("moment", "fresh", "read"),
    [
        ("2026-11-17T00:59:59", "0.15", "0.003"),  # a Tuesday
        ("2026-11-17T01:00:00", "0.30", "0.006"),
        ("2026-11-17T03:59:59", "0.30", "0.006"),
        ("2026-11-17T04:00:00", "0.15", "0.003"),
        ("2026-11-17T06:00:00", "0.30", "0.006"),
        ("2026-11-17T10:00:00", "0.15", "0.003"),
        ("2026-11-14T02:00:00", "0.15", "0.003"),  # a Saturday
        ("2026-11-15T07:00:00", "0.15", "0.003"),
        ("2026-11-16T07:00:00", "0.30", "0.006"),  # Monday again
    ],
)
def test_deepseek_costs_twice_as_much_at_its_peak_hours_from_monday_to_friday(moment, fresh, read):
    when = int(datetime.fromisoformat(moment + "+00:00").timestamp()) * 10**9
    card = rate_card("deepseek", "deepseek-flash", when, 1_000)
    assert card is not None
    assert card.read is not None
    assert (dollars(card.fresh * 10**6), dollars(card.read * 10**6)) == (Decimal(fresh), Decimal(read))
