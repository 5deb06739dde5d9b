"""Shares of counts beside each other, held against worked examples and plain counting."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.shares import by_chance, wilson


def test_the_lady_who_tasted_tea() -> None:
    """R. A. Fisher's own example: four of eight cups, all told right, is one chance in seventy."""
    assert by_chance(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert by_chance(3, 4, 4, 8) == pytest.approx(17 / 70)
    assert by_chance(0, 4, 4, 8) == 1


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_it_is_the_share_of_all_ways_to_choose(hits: int, missed: int, rest: int, others: int) -> None:
    group, chosen, everything = hits + rest, hits + missed, hits + missed + rest + others
    ways = sum(comb(group, k) * comb(everything - group, chosen - k) for k in range(hits, min(group, chosen) + 1))
    assert by_chance(hits, group, chosen, everything) == pytest.approx(ways / comb(everything, chosen))


@given(st.integers(0, 50), st.integers(1, 50))
def test_an_interval_holds_its_share(part: int, more: int) -> None:
    low, high = wilson(part, part + more)
    assert 0 <= low <= part / (part + more) <= high <= 1
