from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from agentsim.budget import exact_amounts
from agentsim.budget.exact_amounts import AllowedGrowth, AmountError


@pytest.mark.parametrize(
    ("read", "value", "amount"),
    [
        (exact_amounts.dollars, "0.50", 500_000_000_000),
        (exact_amounts.dollars, "$1_000", 10**15),
        (exact_amounts.dollars, Decimal("0.000000000001"), 1),
        (exact_amounts.dollars, 2, 2 * 10**12),
        (exact_amounts.dollars, 0, 0),
        (exact_amounts.tokens, 158_018, 158_018 * 10**6),
        (exact_amounts.tokens, "158_018.5", 158_018_500_000),
        (exact_amounts.count, 3, 3),
        (exact_amounts.count, "3", 3),
        (exact_amounts.share, "85%", Fraction(85, 100)),
        (exact_amounts.share, "85.5 %", Fraction(855, 1000)),
        (exact_amounts.share, Decimal("0.85"), Fraction(85, 100)),
        (exact_amounts.share, 1, Fraction(1)),
        (exact_amounts.growth_in_dollars, "5%", AllowedGrowth(True, Fraction(5, 100))),
        (exact_amounts.growth_in_dollars, "0.05", AllowedGrowth(False, Fraction(50_000_000_000))),
        (exact_amounts.growth_in_tokens, 10_000, AllowedGrowth(False, Fraction(10**10))),
        (exact_amounts.growth_in_counts, 0, AllowedGrowth(False, Fraction(0))),
    ],
)
def test_amounts_are_exact(read: Any, value: object, amount: object) -> None:
    assert read(value) == amount


@pytest.mark.parametrize(
    ("read", "value", "says"),
    [
        (exact_amounts.dollars, "-1", "must not be negative"),
        (exact_amounts.dollars, Decimal("-0.01"), "must not be negative"),
        (exact_amounts.dollars, True, "must be dollars"),
        (exact_amounts.dollars, 0.5, "must be dollars"),  # a float has lost what was written
        (exact_amounts.dollars, "ten", "must be dollars"),
        (exact_amounts.dollars, "1e9", "must be dollars"),
        (exact_amounts.dollars, Decimal("NaN"), "must be dollars"),
        (exact_amounts.dollars, Decimal("1e999999"), "must be dollars"),
        (exact_amounts.dollars, 10**10, "more than $1,000,000,000"),
        (exact_amounts.dollars, "0.0000000000001", "finer than a picodollar"),
        (exact_amounts.dollars, [1], "must be dollars"),
        (exact_amounts.tokens, "0.0000001", "finer than a millionth"),
        (exact_amounts.count, Decimal("1.5"), "whole number"),
        (exact_amounts.share, 85, "more than the whole"),
        (exact_amounts.share, "101%", "more than the whole"),
        (exact_amounts.share, "%", "must be a share"),
        (exact_amounts.growth_in_dollars, "-5%", "must not be negative"),
        (exact_amounts.growth_in_counts, "1.5", "whole number"),
    ],
)
def test_what_is_no_amount_is_told_with_what_to_write(read: Any, value: object, says: str) -> None:
    with pytest.raises(AmountError, match=says.replace("$", r"\$")):
        read(value)
