"""What chance alone does to two samples of sessions, held against dealing them by hand, and where a change began."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="the extra 'sweep' is not installed")

import numpy as np

from agentsim.fleet.chance import DEALS, chances, onset

SHARES = st.lists(st.sampled_from([0.0, 0.0, 0.1, 0.3]), min_size=3, max_size=5)


@settings(max_examples=25, deadline=None)
@given(SHARES, SHARES)
def test_chances_are_those_of_all_ways_to_deal(before: list[float], after: list[float]) -> None:
    every = before + after
    found = sum(after)
    sums = [sum(every[at] for at in chosen) for chosen in combinations(range(len(every)), len(after))]
    told = chances(np.array(before), np.array(after))
    for chance, exact in (
        (told.larger, sum(one >= found - 1e-9 for one in sums) / len(sums)),
        (told.smaller, sum(one <= found + 1e-9 for one in sums) / len(sums)),
    ):
        assert chance == pytest.approx(exact, abs=5 * (0.25 / DEALS) ** 0.5)


def test_no_loss_in_a_few_sessions_is_no_proof() -> None:
    before = np.array([0.2] * 10 + [0.0] * 90)
    assert chances(before, np.zeros(5)).smaller > 0.3
    assert chances(before, np.zeros(25)).smaller > 0.05
    assert chances(before, np.full(25, 0.2)).larger < 0.001
    assert chances(np.zeros(5_000), np.zeros(50)).larger == 1.0
    many = np.array([0.2] * 500 + [0.0] * 4_500)
    assert chances(many, np.full(50, 0.2)).larger < 0.001
    assert 0.01 < chances(many, np.array([0.2] * 8 + [0.0] * 42)).larger < 0.2, "a sixth, where a tenth is usual"


def test_where_a_change_began() -> None:
    days = np.repeat(np.arange(100, 135), 3)
    draws = np.random.default_rng(3)
    shares = np.where(days >= 128, 0.3, 0.02) * draws.random(len(days))
    found = onset(days, shares)
    assert found is not None
    assert found[0] == 128
    assert 125 <= found[1] <= 128 <= found[2] <= 131
    shuffled = draws.permutation(len(days))
    assert onset(days[shuffled], shares[shuffled]) == found, "in whatever order"
    assert onset(np.array([1, 1, 1, 1, 1, 1]), np.zeros(6)) is None, "one day has no before"
    assert onset(np.array([1, 1, 2, 2]), np.zeros(4)) is None, "two sessions on a side are too few"
