"""What all sessions have in common, whoever reads them: order, parents, ids, lanes, accounts."""

from __future__ import annotations

import pytest

from agentsim.core.session import Request, Usage
from agentsim.traces.hostile_records import Tally
from agentsim.traces.session_assembly import Assembly

SECOND = 10**9


def request(id: str, start: int | None, lane: str = "main", **more: object) -> Request:
    when = None if start is None else start * SECOND
    return Request(id=id, lane=lane, model="m", start=when, usage=Usage(read=0), **more)  # type: ignore[arg-type]


@pytest.fixture
def assembly() -> Assembly:
    return Assembly("s", "test", Tally("log"))


def test_requests_are_in_order_of_their_start_across_lanes(assembly: Assembly) -> None:
    for id, start, lane in (("a", 1, "main"), ("b", 5, "main"), ("c", 3, "side"), ("d", 4, "side")):
        assembly.add(request(id, start, lane))
    assert [one.id for one in assembly.build("usage").requests] == ["a", "c", "d", "b"]


def test_one_without_a_time_follows_the_one_before_it_in_its_lane(assembly: Assembly) -> None:
    for id, start, lane in (("a", 1, "main"), ("b", 5, "main"), ("c", 3, "side"), ("d", None, "side")):
        assembly.add(request(id, start, lane))
    assert [one.id for one in assembly.build("usage").requests] == ["a", "c", "d", "b"]


def test_a_child_comes_after_its_parent_whatever_the_clock_says(assembly: Assembly) -> None:
    assembly.add(request("a", 9))
    assembly.add(request("b", 2))
    assert [one.id for one in assembly.build("usage").requests] == ["a", "b"]


def test_ids_and_lanes_are_unique_and_a_request_that_fits_stays_the_same_object(assembly: Assembly) -> None:
    first = request("a", 1)
    assert assembly.add(first) is first
    again = assembly.add(request("a", 2))
    assert (again.id, again.parent) == ("a/2", "a")
    assert [assembly.new_lane("side", "subagent") for _ in range(2)] == ["side", "side #2"]
    child = assembly.add(request("c", 3, "side"), parent="a")
    assert (child.purpose, child.parent) == ("subagent", None), "a parent is of the same lane"


def test_a_copy_is_kept_and_not_counted(assembly: Assembly) -> None:
    assembly.add(request("a", 1))
    assembly.add(request("b", 2, counted=False))
    assembly.tally.rows = 2
    accounting = assembly.build("usage").accounting
    assert (accounting.used, accounting.duplicate, accounting.adds_up) == (1, 1, True)
