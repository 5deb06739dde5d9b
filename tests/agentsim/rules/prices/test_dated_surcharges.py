"""Prices that depend on the hour and on the part of the world, held to what providers and bills say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentsim.core.session import Usage
from agentsim.rules.prices.price_book import rate_card
from agentsim.rules.prices.rate_card import cost

DOLLAR = 10**12


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("when", "dollars"),
    [
        ("2026-08-31T07:05", "0.02508"),  # a Monday at peak; a bill agrees
        ("2026-08-31T11:05", "0.01254"),
        ("2026-08-29T07:05", "0.01254"),  # a Saturday
        ("2026-08-16T15:30", "0.00641625"),
        ("2026-08-16T15:59:59", "0.00641625"),
        ("2026-08-16T16:00", "0.01254"),
        ("2026-08-16T17:00", "0.01254"),
        ("2026-08-18T02:00", "0.02508"),
    ],
)
def test_deepseek_costs_twice_at_peak_from_the_hour_of_the_change(when: str, dollars: str) -> None:
    card = rate_card("deepseek", "deepseek-v4-pro", _at(when), 100_000)
    assert card is not None
    assert cost(card, Usage(fresh=10_000, read=90_000, output=2_000)) == round(float(dollars) * DOLLAR)


@pytest.mark.parametrize(
    ("model", "when", "fresh"),
    [
        ("deepseek-v4-flash", "2026-08-18T02:00", 440_000),  # twice the 0.22 of that month
        ("deepseek-v4-flash", "2026-09-09T09:59", 440_000),
        ("deepseek-v4-flash", "2026-09-09T10:00", 220_000),
        ("deepseek-v4-flash", "2026-09-10T02:00", 300_000),
        ("deepseek-chat", "2026-09-10T02:00", 300_000),
    ],
)
def test_a_peak_price_follows_the_price_of_its_day(model: str, when: str, fresh: int) -> None:
    card = rate_card("deepseek", model, _at(when), 1)
    assert card is not None
    assert card.fresh == fresh


@pytest.mark.parametrize(("model", "cents"), [("us.", 6985), ("eu.", 6985), ("au.", 6985), ("global.", 6350)])
def test_a_geographic_profile_of_bedrock_costs_a_tenth_more(model: str, cents: int) -> None:
    card = rate_card("bedrock", f"{model}openai.gpt-6-astra", _at("2026-09-10T00:26"), 100_000)
    assert card is not None
    usage = Usage(fresh=10_000, read=60_000, write_short=30_000, output=2_000)
    assert cost(card, usage) == cents * DOLLAR // 10_000


@pytest.mark.parametrize(
    ("model", "fresh"),
    [
        ("us.openai.gpt-6.2-astra", 8_800_000),
        ("global.openai.gpt-6.2-astra", 8_000_000),
        ("apac.anthropic.claude-haiku-4-5", 1_100_000),
        ("bedrock/jp.anthropic.claude-haiku-4-5", 1_100_000),
        ("global.anthropic.claude-haiku-4-5", 1_000_000),
        ("apac.anthropic.claude-haiku-4-5-20251001-v1:0", 1_100_000),  # the library's own, not raised again
        ("eu.anthropic.claude-sonnet-4-20250514-v1:0", 3_000_000),  # before the 4.5 generation: no premium
    ],
)
def test_a_geographic_name_without_a_price_of_its_own_costs_a_tenth_more_than_the_makers(
    model: str, fresh: int
) -> None:
    card = rate_card("bedrock", model, _at("2026-11-20T12:00"), 1_000)
    assert card is not None
    assert card.fresh == fresh
