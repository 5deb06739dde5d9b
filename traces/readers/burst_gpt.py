"""BurstGPT: a CSV of requests to ChatGPT and GPT-4, with their sizes, and in newer releases their sessions.

Convention: ``Request tokens`` is the whole prompt, cached or not; nothing is said about hits, nor about what prompts
share. ``Total tokens`` is checked. A response of no tokens is a failure, which is not billed. ``Elapsed time`` is in
seconds, and so is ``Timestamp``, from the trace's beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.csv_rows import count_in, csv_rows, header_of
from agentsim.traces.hostile_records import calls_in
from agentsim.traces.session_assembly import MAIN, Assembly, read_each

NAME = "burst-gpt"
DESCRIPTION = "BurstGPT traces (CSV of times, sizes and sessions; from descriptions)"
VERIFIED = False

WANTED = ("timestamp", "model", "request tokens", "response tokens")
OPTIONAL = ("total tokens", "session id", "elapsed time")


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like such a trace."""
    return set(WANTED) <= set(header_of(head))


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each trace; each of its sessions is a lane. What is wrong with a file is told in ``problems``;
    without that list OSError is raised for it."""
    yield from read_each(paths, problems, _session, "request with its sizes")


def _session(path: str) -> Session:
    assembly = Assembly.of_file(path, NAME)
    rows = csv_rows(path, WANTED, OPTIONAL)
    for request in calls_in(rows, assembly.tally, lambda row, line: _request(row, Source(path, line))):
        assembly.add(request)
    return assembly.build("usage")


def _request(row: list[str], source: Source) -> Request | None:
    stamp, model, asked, answered, total, session, elapsed = (field.strip() for field in row)
    sent, received = count_in(asked, "Request tokens"), count_in(answered, "Response tokens")
    if total and count_in(total, "Total tokens") != sent + received:
        raise BadRow("bad counter", "Total tokens is not the sum of the others")
    if not received:
        return None
    start, took = _time(stamp), _time(elapsed)
    return Request(
        id=f"#{source.line}",
        lane=session or MAIN,
        model=model,
        provider="openai",
        start=start,
        end=None if start is None or took is None else start + took,
        usage=input_includes_cached(sent, None, None, received),
        source=source,
    )


def _time(seconds: str) -> int | None:
    whole, _, part = seconds.partition(".")
    if not (whole.isascii() and whole.isdecimal()) or (part and not (part.isascii() and part.isdecimal())):
        return None
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0")) if len(whole) < 11 else None
