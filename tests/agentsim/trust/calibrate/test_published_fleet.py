"""A fleet as a public report of 2026-09 describes it (C28): losses by idle time, with a cliff at an hour."""

from __future__ import annotations

from agentsim.core.dates import SECOND
from agentsim.trust.calibrate import PauseReturn, fit
from agentsim.trust.calibrate.pause_returns import FitEvidence

BANDS = [  # minutes from and to, returns, percent of them that found their history gone
    (10, 20, 1_335, 8),
    (20, 30, 320, 13),
    (30, 45, 180, 21),
    (45, 60, 111, 25),
    (60, 75, 30, 93),
    (75, 120, 50, 98),
    (120, 180, 35, 94),
]
"""The shares are the report's, as are 1,335 and the sum of the first four, 1,946; the other counts are not told."""


def fleet() -> FitEvidence:
    found = []
    for least, most, count, percent in BANDS:
        for number in range(count):
            pause = int((least + (most - least) * (number + 0.5) / count) * 60 * SECOND)
            lost = (number + 1) * percent // 100 > number * percent // 100
            found.append(
                PauseReturn(
                    session="s",
                    provider="anthropic",
                    model="claude-opus-5",
                    tier="1h",
                    since_start=pause,
                    since_end=pause,
                    expected=100_000,
                    read=0 if lost else 100_000,
                    outcome="lost" if lost else "kept",
                )
            )
    return FitEvidence(returns=tuple(found), reads=(), floors=(), sessions=30)


def test_c28_the_cliff_is_found_although_more_was_lost_before_it() -> None:
    (found,) = fit(fleet())
    (life,) = found.lifetimes
    assert sum(count for _, _, count, _ in BANDS[:4]) == 1_946
    # 106 + 41 + 37 + 27 = 211 of 1,946 are lost within the hour, 27 + 49 + 32 = 108 of 115 after it,
    # of which the first, at 60 min 15 s, still found its history and counts as within the fitted lifetime.
    assert (life.lost, life.lost_beyond, life.beyond) == (319, 108, 114)
    assert life.value is not None
    assert abs(life.value - 3_600) <= 60
    # The other class of losses grows with the pause, and is told apart from the cliff.
    shares = [one.lost / one.returns for one in found.retention[0][1]]
    assert shares == sorted(shares)
    assert shares[0] < 0.10
    assert shares[-1] > 0.90
