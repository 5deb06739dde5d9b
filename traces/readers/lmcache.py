"""LMCache's traces of agents: a row a call, with its whole prompt as one text and what came back.

There are no counters. The size of a prompt is estimated from its length (:mod:`agentsim.traces.text_prompts`), and
nothing is said about hits: serve the trace under an engine's rules to learn what could be read. Times are microseconds,
of the call's beginning. There is no model and no price: the provider is ``engine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import calls_in, rows_of
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.text_prompts import TextPrompts
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "lmcache-agent-trace"
DESCRIPTION = "LMCache agent traces (whole prompts as text, no counters)"
VERIFIED = True


class _Row(msgspec.Struct, gc=False):
    timestamp: msgspec.Raw
    input: str
    output: str
    session_id: str | None = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    start = head.lstrip()[:64].replace(b" ", b"")
    return start.startswith(b'{"timestamp":1') and b',"input":"' in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace. What is wrong with a file is told in ``problems``; without that list OSError is
    raised for it."""
    yield from read_each(paths, problems, _session, "call with its prompt")


def _session(path: str) -> Session:
    assembly = Assembly.of_file(path, NAME)
    prompts = TextPrompts()
    calls = calls_in(rows_of(path, _rows), assembly.tally, lambda row, line: _request(row, prompts, Source(path, line)))
    # Calls that ran side by side stand in the order in which they ended.
    add_in_order(assembly, calls)
    return assembly.build("messages")


def _request(row: _Row, prompts: TextPrompts, source: Source) -> Request:
    lane = row.session_id or MAIN
    return Request(
        id=f"#{source.line}",
        lane=lane,
        model="",
        provider="engine",
        start=unix_nanoseconds(bytes(row.timestamp)),
        prompt=prompts.prompt(row.input, lane),
        usage=Usage(),
        source=source,
    )
