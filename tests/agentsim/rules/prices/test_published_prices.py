"""Published prices, each row named by its source: US dollars for a million tokens, whole table by whole table."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from agentsim.core.money import dollars
from agentsim.rules.prices import rate_card

PER = 10**6
LONG = 272_001
"""Tokens of a prompt in the dearer tier of OpenAI's models."""


def at(moment: str) -> int:
    return int(datetime.fromisoformat(moment + "+00:00").astimezone(UTC).timestamp()) * 10**9


NOVEMBER = at("2026-11-20T12:00:00")


def row(provider: str, model: str, size: int = 1_000, when: int | None = NOVEMBER, **how: str) -> list[Decimal | None]:
    """Input, output, read, written for the shorter and for the longer lifetime; a write of no price is None."""
    card = rate_card(provider, model, when, size, **how)
    assert card is not None
    prices = (card.fresh, card.output, card.read, card.write_short, card.write_long)
    return [None if price is None else dollars(price * PER) for price in prices]


def money(words: str) -> list[Decimal | None]:
    return [None if word == "-" else Decimal(word) for word in words.split()]


PUBLISHED = """
anthropic  claude-fable-5-2    1000    8 40 0.20 10 16
anthropic  claude-fable-5-1    1000    10 50 0.25 12.5 20
anthropic  claude-mythos-5-1   1000    10 50 0.25 12.5 20
anthropic  claude-fable-5      1000    10 50 1 12.5 20
anthropic  claude-mythos-5     1000    10 50 1 12.5 20
anthropic  claude-opus-5-5     1000    4 20 0.20 5 8
anthropic  claude-opus-5       1000    5 25 0.50 6.25 10
anthropic  claude-opus-4-8     1000    5 25 0.50 6.25 10
anthropic  claude-opus-4-7     1000    5 25 0.50 6.25 10
anthropic  claude-opus-4-6     1000    5 25 0.50 6.25 10
anthropic  claude-opus-4-5     1000    5 25 0.50 6.25 10
anthropic  claude-sonnet-5-5   1000    2 10 0.10 2.5 4
anthropic  claude-sonnet-5     1000    2 10 0.20 2.5 4
anthropic  claude-sonnet-4-6   1000    3 15 0.30 3.75 6
anthropic  claude-sonnet-4-5   1000    3 15 0.30 3.75 6
anthropic  claude-haiku-5-5    100000  0.10 0.50 0.01 0.125 0.20
anthropic  claude-haiku-5-5    100001  0.50 2.50 0.05 0.625 1.00
anthropic  claude-haiku-4-5    1000    1 5 0.10 1.25 2
openai     gpt-6.2-astra       272000  8 40 0.40 10 20
openai     gpt-6.2-sol         272000  2 10 0.10 2.5 5
openai     gpt-6.1-sol         272000  2 10 0.10 2.5 5
openai     gpt-6.1-terra       272000  1 5 0.05 1.25 2.5
openai     gpt-6-astra         272000  10 50 1 12.5 25
openai     gpt-6-sol           272000  2 10 0.2 2.5 5
openai     gpt-6-luna          272000  0.10 0.50 0.01 0.125 0.25
openai     gpt-5.6-sol         272000  4 20 0.4 5 10
openai     gpt-5.6-terra       272000  2 12 0.2 2.5 5
openai     gpt-5.6-luna        272000  0.20 1.20 0.02 0.25 0.5
openai     gpt-5.5             272000  5 30 0.5 - -
openai     gpt-5.4             272000  2.5 15 0.25 - -
openai     gpt-5.2             272000  1.75 14 0.175 - -
openai     gpt-5.1             272000  1.25 10 0.125 - -
openai     gpt-5               272000  1.25 10 0.125 - -
gemini     gemini-4-neon       200001  3 15 0.15 - -
gemini     gemini-4-argon      200001  2 10 0.10 - -
gemini     gemini-4-carbon     200001  2 10 0.10 - -
gemini     gemini-4-hydrogen   200001  1.5 7.5 0.075 - -
gemini     gemini-3.8-flash    1000    0.75 3.75 0.075 - -
gemini     gemini-3.7-flash    1000    0.75 3.75 0.075 - -
gemini     gemini-3.6-flash    1000    0.75 3.75 0.075 - -
gemini     gemini-3.1-pro      200000  2 12 0.2 - -
gemini     gemini-3.1-pro      200001  4 18 0.4 - -
xai        grok-4.7            199999  2 6 0.5 - -
xai        grok-4.7            200001  4 12 1 - -
xai        grok-4.6            1000    2 6 0.5 - -
xai        grok-4.5            1000    2 6 0.3 - -
xai        grok-4.3            1000    1.25 2.5 0.2 - -
kimi       kimi-k3             1000    3 15 0.30 3 6
kimi       kimi-k3.1-pro       1000    2 10 0.20 2 4
kimi       kimi-k2.7-code      1000    0.95 4 0.19 - -
glm        glm-5.3             1000    1.40 4.4 0.26 - -
glm        glm-5.3-flash       1000    0.15 0.5 0.03 - -
minimax    MiniMax-M3          512000  0.3 1.2 0.06 - -
minimax    MiniMax-M3          512001  0.6 2.4 0.12 - -
mistral    mistral-large-4     1000    0.7 2.1 0.07 - -
"""
ROWS = [line.split(maxsplit=3) for line in PUBLISHED.split("\n") if line]


@pytest.mark.parametrize(
    ("provider", "model", "size", "prices"),
    ROWS,
    ids=[f"catalog of 2026-11-20: {model} at {size}" for _, model, size, _ in ROWS],
)
def test_the_line_up_of_november_2026(provider, model, size, prices):
    assert row(provider, model, int(size)) == money(prices)


@pytest.mark.parametrize(
    "model",
    [model for provider, model, size, _ in ROWS if provider == "openai" and size == "272000" and model >= "gpt-5.4"],
)
def test_above_272_000_tokens_input_doubles_and_output_costs_half_as_much_again(model):
    below, above = row("openai", model, LONG - 1), row("openai", model, LONG)
    factors = [Decimal(factor) for factor in ("2", "1.5", "2", "2", "2")]
    assert above == [None if price is None else price * by for price, by in zip(below, factors, strict=True)]


@pytest.mark.parametrize(("tier", "factor"), [("flex", "0.5"), ("batch", "0.5"), ("priority", "2"), ("ultrafast", "6")])
@pytest.mark.parametrize("model", ["gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-terra", "gpt-5.6-luna"])
def test_a_tier_of_service_is_a_factor_on_every_price(model, tier, factor):
    assert row("openai", model, service_tier=tier) == [(price or 0) * Decimal(factor) for price in row("openai", model)]


@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-chat", "deepseek-reasoner"])
def test_the_old_names_of_deepseek_are_billed_as_flash(model):
    assert row("deepseek", model, when=at("2026-11-20T12:00:00")) == money("0.15 0.60 0.003 - -")
    assert row("deepseek", model, when=at("2026-11-20T02:00:00")) == money("0.30 1.20 0.006 - -")
    assert row("deepseek", model, when=at("2026-11-21T02:00:00")) == money("0.15 0.60 0.003 - -")  # a Saturday


def test_what_the_old_names_cost_before_counted_every_day():
    # Two prices by the hour in 2025, on Sunday as on Monday: weekdays came with the prices of 2026.
    for day in ("2025-06-01", "2025-06-02"):
        assert row("deepseek", "deepseek-chat", when=at(f"{day}T02:00:00")) == money("0.27 1.1 0.07 - -")
        assert row("deepseek", "deepseek-chat", when=at(f"{day}T20:00:00")) == money("0.135 0.55 0.035 - -")


def test_deepseek_v4_pro_costs_twice_as_much_at_peak_hours_since_august():
    assert row("deepseek", "deepseek-v4-pro", when=at("2026-11-20T12:00:00")) == money("0.66 1.98 0.022 - -")
    assert row("deepseek", "deepseek-v4-pro", when=at("2026-11-20T07:00:00")) == money("1.32 3.96 0.044 - -")
    # A Friday before 2026-08-16, when hours began to count: one price all day.
    assert (
        len({row("deepseek", "deepseek-v4-pro", when=at(f"2026-08-14T{hour:02}:30:00"))[0] for hour in range(24)}) == 1
    )


def test_sonnet_5_5_reads_cost_a_tenth_of_input_until_2026_10_07():
    assert row("anthropic", "claude-sonnet-5-5", when=at("2026-10-06T23:59:59"))[2] == Decimal("0.20")
    assert row("anthropic", "claude-sonnet-5-5", when=at("2026-10-07T00:00:00"))[2] == Decimal("0.10")


@pytest.mark.parametrize(
    ("provider", "model", "region", "factor"),
    [
        ("bedrock", "global.anthropic.claude-opus-4-5-20251101-v1:0", None, "1"),
        ("bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", None, "1.1"),
        ("vertex", "claude-opus-4-5@20251101", "global", "1"),
        ("vertex", "claude-opus-4-5@20251101", "us-east5", "1.1"),
        ("vertex", "claude-opus-4-5@20251101", "eu", "1.1"),
        ("foundry", "claude-opus-4-5", None, "1"),
        ("openrouter", "anthropic/claude-opus-4.5", None, "1"),
    ],
)
def test_claude_costs_the_same_everywhere_but_a_tenth_more_in_one_region(provider, model, region, factor):
    expected = [price * Decimal(factor) for price in row("anthropic", "claude-opus-4-5") if price is not None]
    assert row(provider, model, **({"region": region} if region else {})) == expected


@pytest.mark.parametrize(
    ("model", "hour"), [("gemini-2.5-pro", "4.50"), ("gemini-3.1-pro", "4.50"), ("gemini-2.5-flash", "1")]
)
def test_a_gemini_object_costs_by_tokens_and_hours(model, hour):
    card = rate_card("gemini", model, NOVEMBER, 1_000)
    assert card is not None
    assert card.storage is not None
    assert dollars(card.storage * PER) == Decimal(hour)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-fable-5.2"), ("openrouter", "anthropic/claude-fable-5.2"), ("vertex", "claude-fable-5.2")],
)
def test_a_version_with_a_dot_is_the_same_model(provider, model):
    assert row(provider, model) == money("8 40 0.20 10 16")
