"""Prices that a user's rules file brings along for a provider, in front of the price library's."""

from __future__ import annotations

from datetime import date
from fnmatch import fnmatchcase

import msgspec

from agentsim.rules.prices.price_table import DAY
from agentsim.rules.prices.rate_card import RateCard

EPOCH = date(1970, 1, 1)


class OwnPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of some models (shell patterns; all where ``None``) from one day to another, the last one excluded."""

    card: RateCard
    models: tuple[str, ...] | None = None
    since: date | None = None
    until: date | None = None

    def holds(self, model: str, when: int | None) -> bool:
        """Whether it is in force for a model at a time; at an unknown time, whether it holds now."""
        if self.models is not None and not any(fnmatchcase(model, pattern) for pattern in self.models):
            return False
        if when is None:
            return self.until is None
        day = when // DAY
        after = self.since is None or day >= (self.since - EPOCH).days
        return after and (self.until is None or day < (self.until - EPOCH).days)


def own_card(prices: tuple[OwnPrice, ...], model: str, when: int | None) -> RateCard | None:
    """The card of the last price that holds."""
    return next((price.card for price in reversed(prices) if price.holds(model, when)), None)
