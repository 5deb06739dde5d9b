"""A lane has one request in flight at a time: what comes before the last one ended begins another one."""

from __future__ import annotations

import pytest

from agentsim.gateway.conversations import Conversation
from agentsim.traces.capture_lanes import CapturedCall, LaneFinder
from tests.agentsim.prompts import prompt, texts

MILLISECOND = 10**6
BEGAN = 1_790_000_000_000 * MILLISECOND
DAY = 86_400_000 * MILLISECOND


def call(rounds: int, start: int, end: int | None = None) -> CapturedCall:
    """A conversation after so many rounds."""
    return CapturedCall(
        prompt=prompt(texts(rounds)),
        model="m",
        settings=(),
        start=start,
        end=end,
        max_tokens=None,
        tools=1,
        messages=rounds,
    )


@pytest.mark.parametrize(
    ("early", "lane"),
    [(-1, "main"), (0, "main"), (50 * MILLISECOND, "main"), (50 * MILLISECOND + 1, "subagent")],
)
def test_a_request_may_start_fifty_milliseconds_before_the_last_one_ended(early: int, lane: str) -> None:
    first = call(1, BEGAN, BEGAN + 1_000 * MILLISECOND)
    second = call(2, BEGAN + 1_000 * MILLISECOND - early)
    finder = LaneFinder([first, second])
    place = finder.place(first)
    place.lane_state.remember("first", first, first.prompt, place.purpose)
    assert finder.place(second).lane_state.lane.id == lane


def test_without_an_end_nothing_is_in_flight() -> None:
    first, second = call(1, BEGAN), call(2, BEGAN)
    finder = LaneFinder([first, second])
    place = finder.place(first)
    place.lane_state.remember("first", first, first.prompt, place.purpose)
    assert finder.place(second).lane_state.lane.id == "main"


@pytest.mark.parametrize(
    ("after", "lane"), [(0, "subagent"), (DAY - 50 * MILLISECOND - 1, "subagent"), (DAY - 50 * MILLISECOND, "main")]
)
def test_the_endpoint_holds_a_lane_for_a_day_while_a_request_is_on_its_way(after: int, lane: str) -> None:
    talk = Conversation("s", "agentsim/1")
    first, second = call(1, BEGAN), call(2, BEGAN + after)
    talk.hold(talk.place("first", first), first, first.prompt)
    assert talk.place("second", second).lane == lane


@pytest.mark.parametrize(("early", "lane"), [(50 * MILLISECOND, "main"), (50 * MILLISECOND + 1, "subagent")])
def test_a_request_that_was_cut_short_leaves_its_lane_then(early: int, lane: str) -> None:
    talk = Conversation("s", "agentsim/1")
    first, now = call(1, BEGAN), BEGAN + 2_000 * MILLISECOND
    talk.hold(talk.place("first", first), first, first.prompt)
    assert talk.cut_short("first", now) == "main"
    assert talk.cut_short("first", now + 1) == "main"  # it ended already
    assert talk.place("second", call(2, now - early)).lane == lane
