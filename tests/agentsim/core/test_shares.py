"""Shares of counts beside each other, held against worked examples and plain counting."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.shares import by_chance, by_chance_in_all, ratio_interval, wilson


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


STRATA = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3
)


@given(STRATA)
def test_strata_are_counted_one_beside_the_other(tables: list[tuple[int, int, int, int]]) -> None:
    """All ways to choose each stratum's hits, told one by one."""
    strata = [(hits + rest, hits + missed, hits + missed + rest + others) for hits, missed, rest, others in tables]
    ways = {0: 1}
    for group, chosen, everything in strata:
        more: dict[int, int] = {}
        for at, count in ways.items():
            for k in range(min(group, chosen) + 1):
                more[at + k] = more.get(at + k, 0) + count * comb(group, k) * comb(everything - group, chosen - k)
        ways = more
    wanted = sum(hits for hits, *_ in tables)
    expected = sum(count for at, count in ways.items() if at >= wanted) / sum(ways.values())
    assert by_chance_in_all(wanted, strata) == pytest.approx(expected)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_one_stratum_is_fishers_test(hits: int, missed: int, rest: int, others: int) -> None:
    table = (hits + rest, hits + missed, hits + missed + rest + others)
    assert by_chance_in_all(hits, [table]) == pytest.approx(by_chance(hits, *table))


def test_what_differs_between_strata_is_no_surprise() -> None:
    """Where everything is in the group and lost in one session, and nothing in the other, chance explains all of it."""
    assert by_chance_in_all(20, [(20, 20, 20), (0, 0, 20)]) == 1
    assert by_chance(20, 20, 20, 40) < 1e-9


def test_a_thousand_losses_take_no_time() -> None:
    assert by_chance_in_all(700, [(1000, 1000, 2000), (500, 300, 1000)]) == pytest.approx(0.04, abs=0.04)


def test_the_ratio_of_two_shares() -> None:
    low, high = ratio_interval(36, 78, 1, 359)
    assert high is not None
    assert low < 36 / 78 / (1 / 359) < high
    assert ratio_interval(5, 15, 0, 538)[1] is None
    assert ratio_interval(0, 5, 1, 5)[0] == 0


@given(st.integers(0, 30), st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_an_interval_holds_its_ratio(part: int, more: int, other: int, others: int) -> None:
    low, high = ratio_interval(part, part + more, other, other + others)
    ratio = part / (part + more) / (other / (other + others))
    assert 0 <= low <= ratio + 1e-9
    assert high is None or ratio <= high + 1e-9
