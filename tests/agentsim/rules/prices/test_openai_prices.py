"""What OpenAI's models ask for: fresh, read, written for half an hour and for half a day, by size and tier."""

from __future__ import annotations

import pytest

from agentsim.core.session import Usage
from agentsim.rules.prices import cost, rate_card

MICRO = 10**6
"""Picodollars a token are dollars a million tokens times this."""


@pytest.mark.parametrize(
    ("model", "fresh", "output", "read", "half_hour", "half_day"),
    [  # dollars a million tokens, from the catalog of 2026-11-20
        ("gpt-6.2-astra", 8, 40, 0.40, 10, 20),
        ("gpt-6.2-sol", 2, 10, 0.10, 2.5, 5),
        ("gpt-6.1-sol", 2, 10, 0.10, 2.5, 5),
        ("gpt-6.1-terra", 1, 5, 0.05, 1.25, 2.5),
        ("gpt-6-astra", 10, 50, 1, 12.5, 25),
        ("gpt-6-luna", 0.10, 0.50, 0.01, 0.125, 0.25),
        ("gpt-5.6-sol", 4, 20, 0.4, 5, 10),
        ("gpt-5.6-terra", 2, 12, 0.2, 2.5, 5),
        ("gpt-5.6-luna", 0.20, 1.20, 0.02, 0.25, 0.5),
    ],
)
def test_the_prices_of_models_with_breakpoints(
    model: str, fresh: float, output: float, read: float, half_hour: float, half_day: float
) -> None:
    card = rate_card("openai", model, None, 10_000)
    assert card is not None
    found = (card.fresh, card.output, card.read, card.write_short, card.write_long)
    assert found == tuple(round(dollars * MICRO) for dollars in (fresh, output, read, half_hour, half_day))
    assert (card.write_short, card.write_long) == (card.fresh * 5 // 4, card.fresh * 5 // 2), (
        "1.25 and 2.5 times the input"
    )
    above = rate_card("openai", model, None, 272_001)
    assert above is not None
    assert (above.fresh, above.read, above.write_short, above.write_long) == tuple(
        2 * (price or 0) for price in (card.fresh, card.read, card.write_short, card.write_long)
    )
    assert above.output == card.output * 3 // 2


@pytest.mark.parametrize(("tier", "numerator", "denominator"), [("flex", 1, 2), ("priority", 2, 1)])
def test_a_service_tier_changes_all_prices_alike(tier: str, numerator: int, denominator: int) -> None:
    plain, other = (rate_card("openai", "gpt-5.6-sol", None, 10_000, service_tier=name) for name in (None, tier))
    assert plain is not None
    assert other is not None
    for name in ("fresh", "output", "read", "write_short", "write_long"):
        assert getattr(other, name) * denominator == getattr(plain, name) * numerator, name


def test_models_before_have_no_price_for_writing() -> None:
    card = rate_card("openai", "gpt-5.5", None, 10_000)
    assert card is not None
    assert (card.write_short, card.write_long) == (None, None)


def test_half_a_day_is_never_billed_at_the_price_of_half_an_hour() -> None:
    card = rate_card("openai", "gpt-5.6-sol", None, 10_000)
    assert card is not None
    # 3,000 x $10 + 679 x $5 + 2 x $4 per million = $0.033403
    assert cost(card, Usage(fresh=2, write_short=679, write_long=3_000, read=0, output=0)) == 33_403 * MICRO
