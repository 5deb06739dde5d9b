"""The share of the input that came from a cache."""

from __future__ import annotations

from fractions import Fraction

from agentsim.core.hit_rate import hit_rate
from agentsim.core.session import Usage


def test_writes_belong_in_the_denominator():
    # A report showed 100.0 % for this row (read / (read + fresh)); half of its prompt was in fact written anew.
    row = Usage(fresh=6, read=19_242, write_other=19_442)
    assert hit_rate([row]) == Fraction(19_242, 19_242 + 19_442 + 6)
    assert round(float(hit_rate([row]) or 0), 4) == 0.4973
    without_writes = Fraction(19_242, 19_242 + 6)
    assert round(float(without_writes), 4) == 0.9997


def test_tokens_are_summed_before_dividing():
    small, large = Usage(fresh=2, read=0), Usage(fresh=0, read=98_000, write_short=2_000)
    many = [small] * 1_000 + [large]
    # 98,000 of 102,000 tokens; the mean of the 1,001 rates would be 0.1 %.
    assert hit_rate(many) == Fraction(98_000, 102_000)


def test_unknown_is_not_zero():
    assert hit_rate([]) is None
    assert hit_rate([Usage(fresh=500)]) is None  # the log reports no cache counters
    assert hit_rate([Usage(fresh=0, read=0)]) is None  # nothing was sent
    assert hit_rate([Usage(fresh=500, read=0)]) == 0
    assert hit_rate([Usage(fresh=500), Usage(fresh=0, read=10)]) == 1
