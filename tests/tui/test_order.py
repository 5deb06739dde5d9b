"""Filtering, sorting and the tree of lanes, against the plain way of doing the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.session import Lane
from agentsim.tui.trace.row_order import Matches, arrange, lane_tree, misses, previous_in_lane
from benchmarks.tui import large

DIAGNOSIS = large(400)


def test_previous_in_lane():
    # 400 requests go round 8 lanes: the one before in the lane is 8 back.
    before = previous_in_lane(DIAGNOSIS.session.requests)
    assert list(before) == [-1] * 8 + list(range(392))


def test_misses():
    assert misses(DIAGNOSIS.verdicts) == list(range(16, 400, 17))


@given(st.sampled_from(["MISS", "as201", "expired", "lane 3", "opus", "REQ_0000001", "17", "hit", "zzz", "", "[", "."]))
def test_all_matches_are_those_that_match_one_by_one(wanted):
    matches = Matches(DIAGNOSIS, wanted)
    assert matches.all() == [index for index in range(400) if matches(index)]
    both = arrange(DIAGNOSIS, only_misses=True, wanted=wanted or "m")
    assert set(both) <= set(misses(DIAGNOSIS.verdicts))


@given(st.sampled_from(["start", "took", "total", "written", "read", "fresh", "hit", "cost", "lost"]), st.booleans())
def test_sorting_loses_no_row_and_keeps_ties_in_order(key, descending):
    order = list(arrange(DIAGNOSIS, sort=key, descending=descending))
    assert sorted(order) == list(range(400))
    written = [DIAGNOSIS.rows[index].usage.write or 0 for index in order]
    if key == "written":
        assert written == sorted(written, reverse=descending)
        ties = [index for index in order if DIAGNOSIS.rows[index].usage.write == 1200]
        assert ties == sorted(ties)


def test_lanes_hang_under_those_that_started_them():
    lanes = [
        Lane(id="m", title="m"),
        Lane(id="s1", title="", purpose="subagent", parent="m"),
        Lane(id="s1a", title="", purpose="subagent", parent="s1"),
        Lane(id="s2", title="", purpose="subagent"),  # the log does not tell: under the first main lane
        Lane(id="h", title="", purpose="helper", parent="gone"),
        Lane(id="m2", title=""),
    ]
    assert [(lane.id, depth) for lane, depth in lane_tree(lanes)] == [
        ("m", 0), ("s1", 1), ("s1a", 2), ("s2", 1), ("h", 1), ("m2", 0),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12, unique_by=lambda pair: pair[0]))
def test_any_lanes_even_in_circles_are_all_shown_once(pairs):
    lanes = [Lane(id=str(id), title="", purpose="subagent", parent=str(parent)) for id, parent in pairs]
    assert sorted(lane.id for lane, _ in lane_tree(lanes)) == sorted(lane.id for lane in lanes)
