"""Prices that a user's rules file brings along for a provider, in front of the price library's."""

from __future__ import annotations

from agentsim.rules.dated import Dated
from agentsim.rules.prices.rate_card import RateCard


class OwnPrice(Dated, frozen=True, kw_only=True):
    """Prices of some models for some days. At an unknown time those of ``read_until`` (nanoseconds) are asked for."""

    card: RateCard
    read_until: int


def own_card(prices: tuple[OwnPrice, ...], model: str, when: int | None) -> RateCard | None:
    """The card of the last price that holds; at an unknown time, when its sources were read."""
    held = (one.card for one in reversed(prices) if one.holds(model, one.read_until if when is None else when))
    return next(held, None)
