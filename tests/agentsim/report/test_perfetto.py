"""The trace that Perfetto and Chrome open, against the rules of its format."""

import io
import json
from itertools import pairwise
from typing import Any

import pytest

from agentsim.harness.plan_run import Simulation, simulate
from agentsim.report.json.perfetto import write_perfetto
from agentsim.scenarios.scenario_loading import load

PHASES = {"M", "X", "i", "s", "f"}


def simulation(name: str, *settings: str) -> Simulation:
    return simulate(load(name, settings)[0].plan())


def trace(*runs: tuple[str, Simulation]) -> list[dict[str, Any]]:
    stream = io.StringIO()
    write_perfetto(stream, runs)
    document = json.loads(stream.getvalue())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


@pytest.mark.parametrize("name", ["atlas-14", "claude-code-day", "pi-day", "deepseek-abcd"])
def test_every_event_has_what_its_phase_needs(name: str):
    for event in trace((name, simulation(name))):
        assert event["ph"] in PHASES
        assert isinstance(event["pid"], int)
        assert isinstance(event["name"], str)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
            assert event["args"]
            continue
        assert isinstance(event["tid"], int)
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] == "t"


def test_a_track_for_each_lane():
    made = simulation("atlas-14")
    names = {e["tid"]: e["args"]["name"] for e in trace(("x", made)) if e["name"] == "thread_name"}
    assert names == {1: "main", 2: "main/sub1", 3: "main/sub2", 4: "main/sub3"}
    slices = [e for e in trace(("x", made)) if e.get("cat") == "request"]
    assert [e["tid"] for e in slices] == [1] * 11 + [2, 3, 4]
    assert slices[1]["ts"] == 30_000_000  # row 2 starts after 30 s
    assert slices[1]["dur"] == 15_000_000


def test_arrows_go_from_the_writer_to_each_reader():
    made = simulation("fanout-2x2", "harness.fan_out.mark=true", "harness.fan_out.wait=first_token")
    events = trace(("x", made))
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    pairs = sorted((starts[key]["tid"], ends[key]["tid"]) for key in starts)
    assert pairs == [(1, 2), (2, 3), (2, 4)]  # the first subagent reads the parent, the others read the first
    slices = [e for e in events if e.get("cat") == "request"]
    for arrow in (*starts.values(), *ends.values()):
        # An end binds to the slice that encloses it: there must be one on its track.
        assert any(s["tid"] == arrow["tid"] and s["ts"] <= arrow["ts"] <= s["ts"] + s["dur"] for s in slices)
    assert all(starts[key]["ts"] <= ends[key]["ts"] for key in starts)
    assert all(e["bp"] == "e" for e in ends.values())


def test_slices_of_a_track_nest_or_stand_apart():
    for name in ("atlas-14", "pi-day", "claude-code-day"):
        tracks: dict[int, list[tuple[float, float]]] = {}
        for event in trace((name, simulation(name))):
            if event["ph"] == "X" and event["cat"] == "request":
                tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        for slices in tracks.values():
            slices.sort()
            for (_, end), (start, _) in pairwise(slices):
                assert end <= start or name == "pi-day"  # a refresh may run while an answer is awaited


def test_several_runs_are_several_processes():
    made = simulation("atlas-14")
    events = trace(("one", made), ("two", made))
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {1: "one, seed 1", 2: "two, seed 1"}
    assert len({e["id"] for e in events if e["ph"] == "s"}) == 2 * len(made.links)


def test_no_nanosecond_is_lost():
    made = simulation("pi-day")
    assert made.ledger is not None
    origin = made.ledger.rows[0].start or 0
    slices = [e for e in trace(("x", made)) if e.get("cat") == "request"]
    for row, event in zip(made.ledger.rows, slices, strict=True):
        assert round(event["ts"] * 1_000) == (row.start or 0) - origin
