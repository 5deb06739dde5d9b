"""Azure's public LLM inference traces: a row a request, with its time and its sizes.

Convention: ``ContextTokens`` is the whole prompt, cached or not; nothing is said about hits, nor about what prompts
share. There is no model and no price: the provider is ``engine``. Failures and users are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.traces.csv_rows import count_in, csv_rows, header_of
from agentsim.traces.hostile_records import calls_in
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "azure-llm"
DESCRIPTION = "Azure LLM inference traces (CSV of times and sizes)"
VERIFIED = True

WANTED = ("timestamp", "contexttokens", "generatedtokens")


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    return set(WANTED) <= set(header_of(head))


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace. What is wrong with a file is told in ``problems``; without that list OSError is
    raised for it."""
    yield from read_each(paths, problems, _session, "request with its sizes")


def _session(path: str) -> Session:
    assembly = Assembly.of_file(path, NAME)
    rows = csv_rows(path, WANTED)
    for request in calls_in(rows, assembly.tally, lambda row, line: _request(row, Source(path, line))):
        assembly.add(request, parent=None)
    return assembly.build("usage")


def _request(row: list[str], source: Source) -> Request:
    sent, received = count_in(row[1], "ContextTokens"), count_in(row[2], "GeneratedTokens")
    return Request(
        id=f"#{source.line}",
        lane=MAIN,
        model="",
        provider="engine",
        start=nanoseconds(row[0].strip()),
        usage=input_includes_cached(sent, None, None, received),
        source=source,
    )
