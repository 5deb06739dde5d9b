"""The plan of a live run on a screen."""

from __future__ import annotations

import io

import pytest

from agentsim.report.paper import Paper
from agentsim.report.screen.live_page import write_plan
from agentsim.trust.live.live_run import LivePlan

CENT = 10**10


@pytest.mark.parametrize(
    ("expected", "most", "words"),
    [
        (120 * CENT, 200 * CENT, "$1.2000 as predicted, at most $2.0000"),
        (200 * CENT, 120 * CENT, "at most $1.2000; as many tokens as recorded would be $2.0000"),
        (None, None, "not known"),
    ],
)
def test_no_prediction_stands_above_its_bound(expected: int | None, most: int | None, words: str) -> None:
    plan = LivePlan(requests=(), skipped=0, tokens=9, output=1, most=most, expected=expected, predicted=(), lasts=0)
    stream = io.StringIO()
    write_plan(Paper(stream, width=140), plan, "host", "0 s")
    assert words in stream.getvalue()
