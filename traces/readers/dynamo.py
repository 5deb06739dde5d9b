"""NVIDIA Dynamo's agent traces: an event a line; a request's end holds what the engine measured of it.

Usage convention: ``input_tokens`` includes ``cached_tokens`` (checked: what is left is not negative). Where a request
can be replayed, the hashes of its blocks are its prompt: each stands for all tokens up to its end, and the last holds
what is left. Two versions of the names are read: workflow and program, session and trajectory. There is no price: the
provider is ``engine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.core.prompt import Prompt
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.block_prompts import BlockPrompts
from agentsim.traces.block_rows import BlockTrace, ServingRow, checked
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import Tally, rows_of, tell_or_raise
from agentsim.traces.session_assembly import MAIN, Assembly, counted_apart, refuse_empty, stem

NAME = "dynamo"
DESCRIPTION = "NVIDIA Dynamo agent traces (requests as the engine measured them; from descriptions)"
VERIFIED = False

SCHEMA = b'"dynamo.agent.trace.'
MILLISECOND = 10**6
LONGEST = 10**13

BlockSize = Annotated[int, msgspec.Meta(ge=1, le=2**20)]
Hash = Annotated[int, msgspec.Meta(ge=0)]


class _Context(msgspec.Struct, gc=False):
    session_id: str | None = None
    workflow_id: str | None = None
    trajectory_id: str | None = None
    program_id: str | None = None
    parent_trajectory_id: str | None = None
    parent_program_id: str | None = None


class _Replay(msgspec.Struct, gc=False):
    trace_block_size: BlockSize
    input_length: Count
    input_sequence_hashes: list[Hash]


class _RequestMetrics(msgspec.Struct, gc=False):
    request_id: str | None = None
    x_request_id: str | None = None
    model: str = ""
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_tokens: Count | None = None
    request_received_ms: int | float | None = None
    ttft_ms: int | float | None = None
    total_time_ms: int | float | None = None
    replay: _Replay | None = None


class _Event(msgspec.Struct, gc=False):
    event_type: str | None = None
    event_time_unix_ms: int | float | None = None
    agent_context: _Context | None = None
    request: _RequestMetrics | None = None


class _Row(_Event, gc=False):
    """An envelope, or the event alone."""

    event: _Event | None = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    return head.lstrip().startswith(b"{") and SCHEMA in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of each trace, each trajectory a lane. What is wrong with a file is told in ``problems``; without
    that list OSError is raised for it."""
    seen: set[str] = set()
    for path in paths:
        try:
            sessions = _sessions(path, seen)
            refuse_empty(sessions[0], path, "end of a request", problems)
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        yield from (session for session in sessions if session.requests)


def read_blocks(path: str, size: int | None = None) -> BlockTrace:
    """The requests of one trace that can be replayed, as rows. Raises OSError when the file cannot be read."""
    tally = Tally(path)
    rows: list[ServingRow] = []
    for line, event, request in _ends(path, tally):
        replay = request.replay
        if replay is None:
            tally.not_billable += 1
            continue
        size = size or replay.trace_block_size
        try:
            checked(replay.input_sequence_hashes, replay.input_length, size)
        except BadRow as bad:
            tally.skip(line, bad)
            continue
        start, _ = _times(event, request)
        rows.append(ServingRow(replay.input_sequence_hashes, replay.input_length, start, line, request.model))
    tally.used = len(rows)
    return BlockTrace(path, size or 1, rows, tally)


def _ends(path: str, tally: Tally) -> Iterator[tuple[int, _Event, _RequestMetrics]]:
    """The ends of requests with their lines; other events are counted."""
    for raw in rows_of(path, _rows):
        tally.rows += 1
        if raw.value is None:
            tally.skip(raw.line, raw.bad or BadRow("not an object"))
            continue
        event = raw.value.event or raw.value
        if event.event_type != "request_end" or event.request is None:
            tally.not_billable += 1
        else:
            yield raw.line, event, event.request


def _sessions(path: str, seen: set[str]) -> list[Session]:
    tally = Tally(path)
    found: dict[str, tuple[Assembly, list[Request]]] = {}
    made: dict[int, BlockPrompts] = {}
    for line, event, measured in _ends(path, tally):
        context = event.agent_context or _Context()
        session = context.session_id or context.workflow_id or stem(path)
        try:
            if measured.request_id is not None and measured.request_id in seen:
                tally.duplicate += 1
                continue
            request = _request(event, measured, context, Source(path, line))
            request = msgspec.structs.replace(request, prompt=_prompt(measured.replay, made))
        except BadRow as bad:
            tally.skip(line, bad)
            continue
        seen.update(() if measured.request_id is None else (measured.request_id,))
        if session not in found:
            assembly = Assembly(session, NAME, Tally(path))
            assembly.files.append(path)
            found[session] = (assembly, [])
        assembly, requests = found[session]
        parent = context.parent_trajectory_id or context.parent_program_id
        assembly.lane(request.lane, purpose="subagent" if parent else "main", parent=parent)
        requests.append(request)
    if not found:
        return [Assembly(stem(path), NAME, tally).build("usage")]
    for assembly, requests in found.values():
        add_in_order(assembly, requests)
    return [_built(assembly) for assembly in counted_apart(tally, [assembly for assembly, _ in found.values()])]


def _built(assembly: Assembly) -> Session:
    whole = all(request.prompt is not None for request in assembly.requests)
    return assembly.build("messages" if whole else "usage")


def _request(event: _Event, measured: _RequestMetrics, context: _Context, source: Source) -> Request:
    start, end = _times(event, measured)
    first = _span(measured.ttft_ms)
    return Request(
        id=measured.request_id or measured.x_request_id or f"#{source.line}",
        lane=context.trajectory_id or context.program_id or MAIN,
        model=measured.model,
        provider="engine",
        start=start,
        first_token=None if start is None or first is None else start + first,
        end=end,
        usage=input_includes_cached(measured.input_tokens, measured.cached_tokens, None, measured.output_tokens),
        source=source,
    )


def _prompt(replay: _Replay | None, made: dict[int, BlockPrompts]) -> Prompt | None:
    if replay is None:
        return None
    size = replay.trace_block_size
    prompts = made.setdefault(size, BlockPrompts(size))
    return prompts.prompt(replay.input_sequence_hashes, replay.input_length)


def _times(event: _Event, measured: _RequestMetrics) -> tuple[int | None, int | None]:
    start, end = _span(measured.request_received_ms), _span(event.event_time_unix_ms)
    took = _span(measured.total_time_ms)
    if start is not None and took is not None:
        return start, start + took
    if start is None and end is not None and took is not None:
        start = end - took
    return start, end


def _span(milliseconds: int | float | None) -> int | None:
    return round(milliseconds * MILLISECOND) if milliseconds is not None and 0 <= milliseconds < LONGEST else None
