"""Shares of a bill and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.tuning.saving_shares import SessionSaving, ShareInterval, _few, measured_share, predicted_share, share_of

SAVINGS = st.lists(
    st.builds(SessionSaving, st.integers(1, 10**12), st.integers(-(10**12), 10**12)), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("saving", "cost", "share"),
    [(1, 4, 250_000), (-1, 4, -250_000), (1, 3, 333_333), (-1, 3, -333_333), (5, 0, 0)],
)
def test_a_share_is_rounded_towards_zero(saving: int, cost: int, share: int) -> None:
    assert share_of(saving, cost) == share


def test_sessions_that_are_all_alike_leave_nothing_open() -> None:
    alike = [SessionSaving(1_000, 100)] * 9
    assert measured_share(alike) == predicted_share(alike) == ShareInterval(100_000, 100_000, 100_000)


@settings(max_examples=20)
@given(SAVINGS)
def test_what_comes_is_less_certain_than_what_was(savings: list[SessionSaving]) -> None:
    was, comes = measured_share(savings), predicted_share(savings)
    assert was.low <= was.share <= was.high
    assert comes.low <= comes.share <= comes.high
    assert was.share == comes.share


def test_the_interval_of_what_comes_is_wider_by_the_root_of_two() -> None:
    savings = [SessionSaving(1_000, 100 * (number % 10)) for number in range(40)]
    was, comes = measured_share(savings), predicted_share(savings)
    assert 1.2 < (comes.high - comes.low) / (was.high - was.low) < 1.65
    few = predicted_share(savings, following=4)
    assert few.high - few.low > comes.high - comes.low


def test_the_best_of_several_is_less_certain() -> None:
    savings = [SessionSaving(1_000, 100 * (number % 10)) for number in range(40)]
    lows = [predicted_share(savings, tried=tried).low for tried in (1, 2, 5)]
    assert lows == sorted(lows, reverse=True)
    assert lows[0] > lows[-1]
    assert predicted_share(savings, tried=5).high == predicted_share(savings).high


def test_few_sessions_say_less_than_their_own_spread() -> None:
    """Student's 95th percentile against that of the normal distribution: 1.895 for eight, 1.753 for sixteen."""
    for count, student in ((8, 1.895), (16, 1.753)):
        wanted = student / 1.645 * (count / (count - 1)) ** 0.5
        assert _few(count) == pytest.approx(wanted, rel=0.02)


def test_the_ends_belong_to_an_interval() -> None:
    interval = ShareInterval(5, 2, 9)
    assert [interval.holds(share) for share in (1, 2, 9, 10)] == [False, True, True, False]
    assert interval.widened(1, -3) == ShareInterval(5, 1, 9)
    assert ShareInterval(0, -30, 40).widened(40, 30) == ShareInterval(0, -50, 50)
    assert ShareInterval(7, 7, 7).widened(0, 2) == ShareInterval(7, 7, 9)
