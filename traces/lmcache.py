"""LMCache's traces of agents: a row a call, with its whole prompt as one text and what came back.

There are no counters. The size of a prompt is estimated from its length (:mod:`traces.text_prompts`), and nothing is
said about hits: serve the trace under an engine's rules to learn what could be read. Times are microseconds, of the
call's beginning. There is no model and no price: the provider is ``engine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.session import Problem, Request, Session, Source, Usage
from traces.assembly import MAIN, Assembly, read_each, stem
from traces.records import BadRow, Tally, rows_of
from traces.stamps import unix_nanoseconds
from traces.text_prompts import TextPrompts

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
    tally = Tally(path)
    assembly = Assembly(stem(path), NAME, tally)
    assembly.files.append(path)
    prompts = TextPrompts()
    requests: list[Request] = []
    for raw in rows_of(path, _rows):
        tally.rows += 1
        try:
            row = raw.checked()
        except BadRow as bad:
            tally.skip(raw.line, bad)
            continue
        lane = row.session_id or MAIN
        requests.append(
            Request(
                id=f"#{raw.line}",
                lane=lane,
                model="",
                provider="engine",
                start=unix_nanoseconds(bytes(row.timestamp)),
                prompt=prompts.prompt(row.input, lane),
                usage=Usage(),
                source=Source(path, raw.line),
            )
        )
    # Calls that ran side by side stand in the order in which they ended.
    for request in sorted(requests, key=lambda request: request.start or 0):
        assembly.add(request)
    return assembly.build("messages")
