"""Grades: what counts as right, coarse, named, open, wrong and missed."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.__main__ import between_marks
from benchmarks.verdicts.session_truth import Truth
from benchmarks.verdicts.verdict_scores import Board, Said, grade

TOOL = Truth("loss", "tool-inserted", ("AS101",), ("AS105", "AS190"), 5_000)
COMPACTION = Truth("informed", "compaction-asked", ("AS140",), ("AS131",))


@pytest.mark.parametrize(
    ("said", "form", "expected"),
    [
        (Said("miss", "AS101", True, evidence="proved"), "pairs", "right"),
        (Said("miss", "AS105", True, evidence="implied"), "counters", "coarse"),
        (Said("miss", "AS105", True, evidence="proved"), "pairs", "wrong"),
        (Said("miss", "AS902", False, ("AS105",)), "counters", "named"),
        (Said("miss", "AS902", False, ("AS503",)), "counters", "open"),
        (Said("miss", "AS401", True, ("AS101",), evidence="implied"), "pairs", "named"),
        (Said("miss", "AS401", True, ("AS101",), evidence="proved"), "pairs", "wrong"),
        (Said("miss", "AS112", True, (), None, "stated", ("AS101",)), "claude-code", "coarse"),
        (Said("hit"), "pairs", "missed"),
        (None, "pairs", "missed"),
    ],
)
def test_the_grade_of_a_verdict_on_a_loss(said: Said | None, form: str, expected: str) -> None:
    assert grade(TOOL, said, form) == expected


@pytest.mark.parametrize(
    ("said", "form", "expected"),
    [
        (Said("compaction", None), "pairs", "right"),
        (Said("miss", "AS131", True), "pairs", "coarse"),
        (Said("first", lost=0), "pairs", "missed"),
        (Said("shorter", lost=0), "counters", "open"),
        (Said("miss", "AS401", True), "pairs", "wrong"),
    ],
)
def test_the_grade_of_what_is_no_loss_and_is_to_be_told(said: Said, form: str, expected: str) -> None:
    assert grade(COMPACTION, said, form) == expected


def test_a_loss_told_of_a_healthy_request_is_an_alarm() -> None:
    assert grade(Truth("healthy"), Said("miss", "AS101", lost=100), "pairs") == "alarm"
    assert grade(Truth("healthy"), Said("hit", lost=0), "pairs") == "quiet"
    assert grade(Truth("free"), Said("miss", "AS101", lost=100), "pairs") is None


@pytest.mark.parametrize(("lost", "close", "above"), [(5_100, 1, 0), (5_101, 0, 1), (4_900, 1, 0), (4_899, 0, 0)])
def test_sizes_are_right_within_two_percent_where_blocks_are_measured(lost: int, close: int, above: int) -> None:
    score = Board().of("c", "f", "agentsim/1")
    score.add(TOOL, Said("miss", "AS101", True, lost=lost), "agentsim/1")
    assert (score.sized, score.close, score.above) == (1, close, above)


def test_tables_go_between_the_marks_of_a_page() -> None:
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert between_marks(page, "new", "x") == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    with pytest.raises(ValueError, match="no <!-- y -->"):
        between_marks(page, "new", "y")
