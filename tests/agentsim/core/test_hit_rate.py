"""The share of the input that came from a cache."""

from __future__ import annotations

from fractions import Fraction

from agentsim.core.session import Usage
from agentsim.core.sums import add, as_sums, new_sums


def hit_rate(*usages: Usage) -> Fraction:
    sums = new_sums()
    for usage in usages:
        add(sums, usage, None, None)
    return Fraction(*as_sums(sums).hit_rate)


def test_writes_belong_in_the_denominator():
    # A report showed 100.0 % for this row (read / (read + fresh)); half of its prompt was in fact written anew.
    rate = hit_rate(Usage(fresh=6, read=19_242, write_other=19_442))
    assert rate == Fraction(19_242, 19_242 + 19_442 + 6)
    assert round(float(rate), 4) == 0.4973


def test_tokens_are_summed_before_dividing():
    small, large = Usage(fresh=2, read=0), Usage(fresh=0, read=98_000, write_short=2_000)
    # 98,000 of 102,000 tokens; the mean of the 1,001 rates would be 0.1 %.
    assert hit_rate(*[small] * 1_000, large) == Fraction(98_000, 102_000)
