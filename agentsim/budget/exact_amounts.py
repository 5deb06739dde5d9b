"""Amounts as people write them, to exact numbers. Nothing here ever is a float."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from agentsim.core.money import picodollars

MOST_DOLLARS = Decimal(10) ** 9
MOST_TOKENS = Decimal(10) ** 15
MICRO = 10**6

_NUMBER = re.compile(r"[0-9][0-9_]*(\.[0-9]+)?", re.ASCII)


class AmountError(ValueError):
    """A value that is no amount of the kind wanted; the text says what to write instead."""


class AllowedGrowth(NamedTuple):
    """How much something may grow: a share of what it was, or an amount in its own unit."""

    relative: bool
    amount: Fraction


def dollars(value: object) -> int:
    """Picodollars of ``"0.50"``, ``"$0.50"``, ``0.50`` or ``2``."""
    text = value[1:] if isinstance(value, str) and value.startswith("$") else value
    amount = _decimal(text, 'dollars, such as "0.50"')
    if amount > MOST_DOLLARS:
        raise AmountError(f"more than ${MOST_DOLLARS:,f}")
    try:
        return picodollars(amount)
    except ValueError as error:
        raise AmountError(str(error)) from None


def tokens(value: object) -> int:
    """Micro-tokens of ``158_018.5``: input equivalents may have a fraction of a token."""
    amount = _decimal(value, "a number of tokens, such as 200_000")
    if amount > MOST_TOKENS:
        raise AmountError(f"more than {MOST_TOKENS:,f} tokens")
    micro = amount * MICRO
    if micro != int(micro):
        raise AmountError("finer than a millionth of a token")
    return int(micro)


def count(value: object) -> int:
    """A whole number that is not negative."""
    amount = _decimal(value, "a whole number, such as 2")
    if amount != int(amount) or amount > MOST_TOKENS:
        raise AmountError("must be a whole number, such as 2")
    return int(amount)


def share(value: object) -> Fraction:
    """A share of ``"85%"`` or ``0.85``."""
    wanted = 'a share, such as "85%" or 0.85'
    if isinstance(value, str) and value.rstrip().endswith("%"):
        amount = Fraction(_decimal(value.rstrip()[:-1].rstrip(), wanted)) / 100
    else:
        amount = Fraction(_decimal(value, wanted))
    if amount > 1:
        raise AmountError(f"must be {wanted}: it is more than the whole")
    return amount


def growth_in_dollars(value: object) -> AllowedGrowth:
    """A growth of a cost: ``"5%"``, or dollars; the amount is in picodollars."""
    return _growth(value) or AllowedGrowth(False, Fraction(dollars(value)))


def growth_in_tokens(value: object) -> AllowedGrowth:
    """A growth of input equivalents: ``"5%"``, or tokens; the amount is in micro-tokens."""
    return _growth(value) or AllowedGrowth(False, Fraction(tokens(value)))


def growth_in_counts(value: object) -> AllowedGrowth:
    """A growth of a count: ``"5%"``, or a whole number."""
    return _growth(value) or AllowedGrowth(False, Fraction(count(value)))


def _growth(value: object) -> AllowedGrowth | None:
    if not (isinstance(value, str) and value.rstrip().endswith("%")):
        return None
    amount = _decimal(value.rstrip()[:-1].rstrip(), 'a growth, such as "5%"')
    if amount > MOST_TOKENS:
        raise AmountError("more than can be meant")
    return AllowedGrowth(True, Fraction(amount) / 100)


def _decimal(value: object, wanted: str) -> Decimal:
    """The number that was written. Raises AmountError for a sign, a huge exponent, and what is no number."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("-") and _NUMBER.fullmatch(text[1:]):
            raise AmountError("must not be negative")
        if len(text) > 40 or not _NUMBER.fullmatch(text):
            raise AmountError(f"must be {wanted}")
        return Decimal(text.replace("_", ""))
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise AmountError(f"must be {wanted}")
    amount = Decimal(value)
    if not amount.is_finite():
        raise AmountError(f"must be {wanted}")
    if amount < 0:
        raise AmountError("must not be negative")
    # A number such as 1e999999 would be spelled out by the next integer operation.
    if abs(amount.adjusted()) > 40 or len(amount.as_tuple().digits) > 40:
        raise AmountError(f"must be {wanted}")
    return amount
