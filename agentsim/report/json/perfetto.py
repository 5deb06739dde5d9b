"""Simulations in the trace event format that Perfetto and Chrome open: a track for each lane.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format, checked 2026-11):
``X`` is a slice with a duration, ``i`` an instant, ``s`` and ``f`` the two ends of an arrow, ``M`` a name. Times are
microseconds; they begin at the start of the simulation, so that no nanosecond is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from agentsim.report.figures import exact, utc
from agentsim.report.verdict_words import EVENTS

if TYPE_CHECKING:
    from agentsim.core.session import Row
    from agentsim.harness.plan_run import Simulation

ARROW = "cache entry"


def write_perfetto(stream: TextIO, runs: Sequence[tuple[str, Simulation]]) -> None:
    """Write runs, each with what it is called, as one trace: a process for each run, a thread for each lane."""
    stream.write('{"displayTimeUnit":"ms","traceEvents":[\n')
    first = True
    for pid, (name, simulation) in enumerate(runs, 1):
        for event in trace_events(pid, name, simulation):
            stream.write(("" if first else ",\n") + _text(event))
            first = False
    stream.write("\n]}\n")


def trace_events(pid: int, name: str, simulation: Simulation) -> Iterator[dict[str, Any]]:
    """The events of one run."""
    session = simulation.session
    assert simulation.ledger is not None
    rows = simulation.ledger.rows
    tracks = {lane.id: tid for tid, lane in enumerate(session.lanes, 1)}
    origin = min((row.start for row in rows if row.start is not None), default=0)
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"{name}, seed {simulation.seed}"}}
    for lane in session.lanes:
        tid = tracks[lane.id]
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": lane.id}}
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}
    for row in rows:
        yield {"pid": pid, "tid": tracks[row.request.lane], **_slice(row, origin)}
    for span in simulation.spans:
        if span.lane in tracks:
            times = {"ts": _micro(span.start - origin), "dur": _micro(span.end - span.start)}
            yield {"ph": "X", "pid": pid, "tid": tracks[span.lane], "name": span.name, "cat": "harness", **times}
    for happened in session.events:
        if happened.time is not None and happened.lane in tracks:
            yield {
                "ph": "i",
                "s": "t",
                "pid": pid,
                "tid": tracks[happened.lane],
                "name": EVENTS[happened.kind],
                "cat": "event",
                "ts": _micro(happened.time - origin),
            }
    yield from _arrows(pid, rows, simulation, tracks, origin)


def _slice(row: Row, origin: int) -> dict[str, Any]:
    request, usage = row.request, row.usage
    start = row.start or 0
    end = row.end if row.end is not None else start
    return {
        "ph": "X",
        "name": f"{request.purpose} {request.id}",
        "cat": "request",
        "ts": _micro(start - origin),
        "dur": _micro(end - start),
        "args": {
            "start": utc(row.start),
            "first_token": None if row.first_token is None else _micro(row.first_token - origin),
            "model": request.model,
            "total_input": usage.total_input,
            "written": usage.write,
            "read": usage.read,
            "fresh": usage.fresh,
            "output": usage.output,
            "cost": exact(row.cost, 12),
        },
    }


def _arrows(
    pid: int, rows: Iterable[Row], simulation: Simulation, tracks: dict[str, int], origin: int
) -> Iterator[dict[str, Any]]:
    """An arrow from the request that wrote an entry to each request that read it: from when it could be read."""
    known = {row.request.id: row for row in rows}
    for number, link in enumerate(simulation.links, 1):
        writer, reader = known.get(link.writer), known.get(link.reader)
        if writer is None or reader is None:
            continue
        for phase, row, time, more in (
            ("s", writer, writer.first_token or writer.start or 0, {}),
            ("f", reader, reader.start or 0, {"bp": "e"}),
        ):
            yield {
                "ph": phase,
                "id": f"{pid}.{number}",
                "pid": pid,
                "tid": tracks[row.request.lane],
                "name": ARROW,
                "cat": ARROW,
                "ts": _micro(time - origin),
                **more,
            }


def _micro(nanoseconds: int) -> float:
    # A double holds three decimals of a microsecond exactly enough for a hundred days, which is what the format takes.
    return nanoseconds / 1000


def _text(event: dict[str, Any]) -> str:
    return json.dumps(event, sort_keys=True, separators=(",", ":"))
