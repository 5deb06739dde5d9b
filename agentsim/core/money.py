"""Exact money: integers of a picodollar inside, Decimal at the edge.

A price of $0.0625 for a million tokens is 62,500 picodollars a token, so each published price times a count of tokens
is a whole number. Nothing here ever is a float.
"""

from __future__ import annotations

from decimal import Decimal

PICODOLLARS = 10**12
"""Picodollars in a dollar."""


def dollars(pico: int) -> Decimal:
    """An amount of picodollars as exact dollars."""
    return Decimal(pico).scaleb(-12)


def picodollars(amount: Decimal) -> int:
    """Exact dollars as picodollars. Raises ValueError when the amount is finer than a picodollar."""
    scaled = amount.scaleb(12)
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"${amount} is finer than a picodollar")
    return whole


def format_dollars(pico: int, places: int = 2) -> str:
    """An amount as people read it, ``$1,234.50``; rounded half to even, and never a rounded-off ``-$0.00``."""
    amount = dollars(pico).quantize(Decimal(1).scaleb(-places))
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount):,.{places}f}"
