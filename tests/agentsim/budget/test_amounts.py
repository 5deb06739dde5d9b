from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from agentsim.budget import amounts
from agentsim.budget.amounts import AmountError, Growth


@pytest.mark.parametrize(
    ("read", "value", "amount"),
    [
        (amounts.dollars, "0.50", 500_000_000_000),
        (amounts.dollars, "$1_000", 10**15),
        (amounts.dollars, Decimal("0.000000000001"), 1),
        (amounts.dollars, 2, 2 * 10**12),
        (amounts.dollars, 0, 0),
        (amounts.tokens, 158_018, 158_018 * 10**6),
        (amounts.tokens, "158_018.5", 158_018_500_000),
        (amounts.count, 3, 3),
        (amounts.count, "3", 3),
        (amounts.share, "85%", Fraction(85, 100)),
        (amounts.share, "85.5 %", Fraction(855, 1000)),
        (amounts.share, Decimal("0.85"), Fraction(85, 100)),
        (amounts.share, 1, Fraction(1)),
        (amounts.growth_in_dollars, "5%", Growth(True, Fraction(5, 100))),
        (amounts.growth_in_dollars, "0.05", Growth(False, Fraction(50_000_000_000))),
        (amounts.growth_in_tokens, 10_000, Growth(False, Fraction(10**10))),
        (amounts.growth_in_counts, 0, Growth(False, Fraction(0))),
    ],
)
def test_amounts_are_exact(read: Any, value: object, amount: object) -> None:
    assert read(value) == amount


@pytest.mark.parametrize(
    ("read", "value", "says"),
    [
        (amounts.dollars, "-1", "must not be negative"),
        (amounts.dollars, Decimal("-0.01"), "must not be negative"),
        (amounts.dollars, True, "must be dollars"),
        (amounts.dollars, 0.5, "must be dollars"),  # a float has lost what was written
        (amounts.dollars, "ten", "must be dollars"),
        (amounts.dollars, "1e9", "must be dollars"),
        (amounts.dollars, Decimal("NaN"), "must be dollars"),
        (amounts.dollars, Decimal("1e999999"), "must be dollars"),
        (amounts.dollars, 10**10, "more than $1,000,000,000"),
        (amounts.dollars, "0.0000000000001", "finer than a picodollar"),
        (amounts.dollars, [1], "must be dollars"),
        (amounts.tokens, "0.0000001", "finer than a millionth"),
        (amounts.count, Decimal("1.5"), "whole number"),
        (amounts.share, 85, "more than the whole"),
        (amounts.share, "101%", "more than the whole"),
        (amounts.share, "%", "must be a share"),
        (amounts.growth_in_dollars, "-5%", "must not be negative"),
        (amounts.growth_in_counts, "1.5", "whole number"),
    ],
)
def test_what_is_no_amount_is_told_with_what_to_write(read: Any, value: object, says: str) -> None:
    with pytest.raises(AmountError, match=says.replace("$", r"\$")):
        read(value)
