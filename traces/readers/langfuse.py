"""Langfuse observations: the generations among them, as JSON lines, an array, or pages of its API.

Usage convention: whether ``usageDetails.input`` holds cached tokens depends on the program that wrote it, and is told
by the total: the sum of input and output, or of all parts. A row without a total is read as those of its file that
prove one convention; where none does, a row with cached tokens is left out. Prompts are not read: what is stored as
``input`` is what a program chose to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import Conventions, convention_told, usage_by
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, counter
from agentsim.traces.export_rows import add_in_order, export_rows
from agentsim.traces.hostile_records import calls_in
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "langfuse"
DESCRIPTION = "Langfuse observations, exported or from its API (from descriptions)"
VERIFIED = False

INPUT = ("input", "promptTokens", "input_tokens", "prompt_tokens")
OUTPUT = ("output", "completionTokens", "output_tokens", "completion_tokens")
READ = ("cache_read_input_tokens", "input_cache_read", "input_cached_tokens", "cached_tokens", "cache_read")
WRITE = ("cache_creation_input_tokens", "cache_write_input_tokens", "input_cache_creation", "cache_creation")
REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens", "reasoning", "thoughts")
TOTAL = ("total", "totalTokens", "total_tokens")


class _Row(msgspec.Struct, gc=False, rename="camel"):
    id: str | None = None
    type: str | None = None
    trace_id: str | None = None
    session_id: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    completion_start_time: str | None = None
    model: str | None = None
    level: str | None = None
    usage_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    cost_details: dict[str, Any] | None = None
    calculated_total_cost: Any = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like observations."""
    wanted = (b'"traceId"', b'"startTime"', b'"type"')
    return (
        head.lstrip()[:1] in (b"{", b"[")
        and all(name in head for name in wanted)
        and (b'"usageDetails"' in head or b'"parentObservationId"' in head)
    )


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each trace in it (or each session, where that is told) is a lane. What is wrong with a
    file is told in ``problems``; without that list OSError is raised for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "generation with its counters")


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    rows: list[tuple[int, _Row, _Counters]] = []
    conventions = Conventions()
    calls = calls_in(
        export_rows(path, _rows),
        tally,
        lambda row, line: (line, row, _Counters(row)),
        billed=lambda row: row.type == "GENERATION" and row.level != "ERROR",
        seen=seen,
        id_of=lambda row: row.id,
    )
    for line, row, counters in calls:
        rows.append((line, row, counters))
        conventions.learn("", counters.told)
    requests = []
    for line, row, counters in rows:
        try:
            requests.append(_request(row, counters, conventions, Source(path, line)))
        except BadRow as bad:
            tally.skip(line, bad)
    add_in_order(assembly, requests)
    return assembly.build("usage")


class _Counters:
    """The counters of a row, as they stand. Raises BadRow for counts that cannot be meant."""

    def __init__(self, row: _Row) -> None:
        found = row.usage_details or row.usage or {}
        self.sent, self.output = _first(found, INPUT), _first(found, OUTPUT)
        self.read, self.write, self.total = _first(found, READ), _first(found, WRITE), _first(found, TOTAL)
        if self.sent is None and self.output is None:
            raise BadRow("no usage", "usageDetails")
        self.output = _with_reasoning(found, self.sent, self.read, self.write, self.output, self.total)
        self.told = convention_told(self.sent, self.read, self.write, self.output, self.total)


def _request(row: _Row, counters: _Counters, conventions: Conventions, source: Source) -> Request:
    convention = counters.told or conventions.of("")
    if convention is None:
        if (counters.read or 0) + (counters.write or 0):
            raise BadRow("unclear convention", "usageDetails.input")
        convention = "includes"  # nothing was cached: both say the same
    model = row.model or ""
    start, first = nanoseconds(row.start_time), nanoseconds(row.completion_start_time)
    return Request(
        id=row.id or f"#{source.line}",
        lane=row.session_id or row.trace_id or MAIN,
        model=model.rpartition("/")[2],
        provider=provider_of(model=model),
        start=start,
        first_token=first if first is not None and start is not None and first > start else None,
        end=nanoseconds(row.end_time),
        logged_cost=_cost(row),
        usage=usage_by(convention, counters.sent, counters.read, counters.write, counters.output),
        source=source,
    )


def _cost(row: _Row) -> int | None:
    costs = row.cost_details or {}
    return logged_picodollars(costs.get("total")) or logged_picodollars(row.calculated_total_cost)


def _with_reasoning(
    found: dict[str, Any], sent: int | None, read: int | None, write: int | None, output: int | None, total: int | None
) -> int | None:
    """The output with what was thought: some programs count it beside the output. The total tells; where there is none,
    more thought than output cannot be a part of it."""
    thought = _first(found, REASONING)
    if not thought or output is None:
        return output
    cached = (read or 0) + (write or 0)
    if total is not None and sent is not None:
        if total in (sent + output, sent + cached + output):
            return output
        if total in (sent + output + thought, sent + cached + output + thought):
            return output + thought
    return output + thought if thought > output else output


def _first(found: dict[str, Any], names: Sequence[str]) -> int | None:
    return next((counter(found[name], name) for name in names if found.get(name) is not None), None)
