"""When paying more for a write is worth it: exact break-evens from a rate card.

Reads and writes against ordinary input; refreshes against one rewrite.
"""

from __future__ import annotations

from fractions import Fraction

from agentsim.rules.prices import RateCard


def hit_rate_to_pay(card: RateCard, *, hour: bool = False) -> Fraction | None:
    """The share of input that must be read, the rest being written, before that costs less than all of it fresh.

    h r + (1 - h) w = f  <=>  h = (w - f) / (w - r). 0 where a write costs no more than fresh input; ``None``: a price
    is not known, or a read saves nothing.
    """
    write = card.write_long if hour else card.write_short
    if write is None or card.read is None or card.read >= card.fresh:
        return None
    return max(Fraction(0), Fraction(write - card.fresh, write - card.read))


def refreshes_to_lose(card: RateCard, *, hour: bool = False) -> Fraction | None:
    """How many refreshes cost as much as the rewrite that they avoid: (w - r) / r. ``None``: a price is not known."""
    write = card.write_long if hour else card.write_short
    if write is None or not card.read:
        return None
    return Fraction(write - card.read, card.read)


def refreshes_worth(card: RateCard, *, hour: bool = False) -> int:
    """The most refreshes that cost no more than the rewrite; 0 where the prices are not known."""
    exact = refreshes_to_lose(card, hour=hour)
    return 0 if exact is None or exact <= 0 else exact.numerator // exact.denominator
