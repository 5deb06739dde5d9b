"""Weka kv-cache-tester traces: one anonymised conversation with an agent a file, with the identities of its KV blocks.

Convention: ``in`` is the whole prompt, cached or not; nothing is said about hits. Only whole blocks have ids; what is
left after them equals nothing. Times are seconds from the trace's beginning. Those of a subagent's requests count from
its own beginning, unless the first of them is as late as that beginning already. The provider is ``engine``: what the
capture cost is not in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.block_prompts import BlockPrompts
from agentsim.traces.block_rows import BlockTrace, ServingRow, checked
from agentsim.traces.hostile_records import Tally, TraceError
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each

NAME = "weka-kv-trace"
DESCRIPTION = "Weka kv-cache-tester traces (block identities of agent conversations)"
VERIFIED = True

_LATEST = 10**10


class _Row(msgspec.Struct, gc=False):
    t: float | None = None
    type: str | None = None
    model: str = ""
    input: Count | None = msgspec.field(default=None, name="in")
    output: Count | None = msgspec.field(default=None, name="out")
    hash_ids: list[Count] = []
    stop: str | None = None
    api_time: float | None = None
    agent_id: str | None = None
    subagent_type: str | None = None
    requests: list[msgspec.Raw] | None = None


class _Trace(msgspec.Struct, gc=False):
    block_size: int
    requests: list[msgspec.Raw]
    id: str | None = None


_traces = msgspec.json.Decoder(_Trace)
_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and b'"block_size"' in start and b'"hash_id_scope"' in start and b'"requests"' in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace. The line of a source is the number of the request. What is wrong with a file is told
    in ``problems``; without that list OSError is raised for it."""
    yield from read_each(paths, problems, _session, "request with its block ids")


def _session(path: str) -> Session:
    trace = _trace(path)
    assembly = Assembly.of_file(path, NAME, trace.id)
    tally = assembly.tally
    _Sessions(path, trace.block_size, tally, assembly).take(trace.requests, MAIN, 0)
    return assembly.build("messages")


def read_blocks(path: str, size: int | None = None) -> BlockTrace:
    """The requests of one trace as rows; the trace tells the tokens of a block itself. Raises OSError when the file
    cannot be read."""
    trace = _trace(path)
    reading = _Rows(path, size or trace.block_size, Tally(path))
    reading.take(trace.requests, MAIN, 0)
    reading.tally.used = len(reading.rows)
    return BlockTrace(path, reading.size, reading.rows, reading.tally)


def _trace(path: str) -> _Trace:
    trace = read_document(path, _traces)
    if not 0 < trace.block_size <= 2**20:
        raise TraceError(path, "a block size that cannot be meant", "check that this is the whole trace")
    return trace


class _Reading(ABC):
    """Reads the requests of a trace and of the subagents in it. Mutable."""

    def __init__(self, path: str, size: int, tally: Tally) -> None:
        self.path = path
        self.size = size
        self.tally = tally
        self.number = 0

    def take(self, rows: Sequence[msgspec.Raw], lane: str, begin: int) -> None:
        """Requests of one lane that begins at this time."""
        relative: bool | None = None
        for raw in rows:
            self.number += 1
            tally = self.tally
            tally.rows += 1
            try:
                row = decode(_rows, raw)
                start = _time(row.t)
                if row.requests is not None:
                    if lane != MAIN:
                        raise BadRow("bad field", "a subagent in a subagent")
                    tally.not_billable += 1
                    agent = row.agent_id or f"subagent-{self.number}"
                    self.open(agent, row.subagent_type or agent)
                    self.take(row.requests, agent, start or 0)
                    continue
                if relative is None:
                    relative = start is not None and start < begin
                if relative and start is not None:
                    start += begin
                if row.input is None:
                    raise BadRow("bad counter", "in")
                self.add(row, row.input, lane, start)
            except BadRow as bad:
                tally.skip(self.number, bad)

    def open(self, agent: str, title: str) -> None:  # noqa: B027
        """A subagent begins."""

    @abstractmethod
    def add(self, row: _Row, tokens: int, lane: str, start: int | None) -> None:
        """A request. Raises BadRow when its blocks are not as long as it is."""


class _Rows(_Reading):
    """Keeps requests as rows."""

    def __init__(self, path: str, size: int, tally: Tally) -> None:
        super().__init__(path, size, tally)
        self.rows: list[ServingRow] = []

    def add(self, row: _Row, tokens: int, lane: str, start: int | None) -> None:
        checked(row.hash_ids, tokens, self.size)
        self.rows.append(ServingRow(row.hash_ids, tokens, start, self.number, row.model))


class _Sessions(_Reading):
    """Makes requests with prompts."""

    def __init__(self, path: str, size: int, tally: Tally, assembly: Assembly) -> None:
        super().__init__(path, size, tally)
        self.assembly = assembly
        self.prompts = BlockPrompts(size)

    def open(self, agent: str, title: str) -> None:
        self.assembly.lane(agent, title=title, purpose="subagent", parent=MAIN)

    def add(self, row: _Row, tokens: int, lane: str, start: int | None) -> None:
        prompt = self.prompts.prompt(row.hash_ids, tokens)
        took = _time(row.api_time)
        self.assembly.add(
            Request(
                id=f"#{self.number}",
                lane=lane,
                model=row.model,
                provider="engine",
                start=start,
                end=None if start is None or took is None else start + took,
                prompt=prompt,
                usage=Usage(output=row.output),
                stop_reason=row.stop,
                source=Source(self.path, self.number),
            )
        )


def _time(seconds: float | None) -> int | None:
    return round(seconds * 10**9) if seconds is not None and 0 <= seconds < _LATEST else None
