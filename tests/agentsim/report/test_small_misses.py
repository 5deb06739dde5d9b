"""Small misses share a line, from the fourth on; what is larger, or dearer, is told by itself."""

from __future__ import annotations

import pytest

from agentsim.core.verdict import Verdict
from agentsim.report.screen.small_misses import small_misses, words_of_small

CENT = 10**10


def miss(name: str, lost: int, cost: int | None, cause: str = "AS901") -> Verdict:
    return Verdict(request=name, kind="miss", cause=cause, lost=lost, lost_cost=cost)


def small(*more: Verdict, count: int = 3) -> frozenset[str]:
    return small_misses([*(miss(f"s{n}", 100, 5) for n in range(count)), *more])


@pytest.mark.parametrize(
    ("lost", "cost", "folded"),
    [
        (2_047, CENT - 1, True),
        (2_048, CENT - 1, False),
        (2_047, CENT, False),
        (2_047, None, True),
        (2_048, None, False),
    ],
)
def test_both_thresholds(lost: int, cost: int | None, folded: bool) -> None:
    assert ("x" in small(miss("x", lost, cost))) is folded


def test_few_are_told_each() -> None:
    assert small() == frozenset()
    assert len(small(count=4)) == 4
    assert small(Verdict(request="h", kind="hit", lost=0)) == frozenset()


def test_the_line_adds_up() -> None:
    verdicts = [(2, miss("a", 100, CENT // 4)), (5, miss("b", 900, CENT // 4)), (7, miss("c", 300, None, "AS130"))]
    words = words_of_small(verdicts)
    assert words.startswith("3 small misses, each of less than 2,048 tokens and $0.0100: 1,300 tokens, $0.0050 ")
    assert "(AS901 2, AS130 1); most at #5, #7, #2; --rows all tells each" in words
