"""BurstGPT: a CSV of requests to ChatGPT and GPT-4, with their sizes, and in newer releases their sessions.

Convention: ``Request tokens`` is the whole prompt, cached or not; nothing is said about hits, nor about what prompts
share. ``Total tokens`` is checked. A response of no tokens is a failure, which is not billed. ``Elapsed time`` is in
seconds, and so is ``Timestamp``, from the trace's beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentsim.session import Problem, Request, Session, Source
from traces.assembly import MAIN, Assembly, read_each, stem
from traces.conventions import input_includes_cached
from traces.csv_rows import count_in, csv_rows, header_of
from traces.records import BadRow, Tally

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
    tally = Tally(path)
    assembly = Assembly(stem(path), NAME, tally)
    assembly.files.append(path)
    for line, row in csv_rows(path, WANTED, OPTIONAL):
        tally.rows += 1
        try:
            if isinstance(row, BadRow):
                raise row
            request = _request(row, line, path)
            if request is None:
                tally.not_billable += 1
            else:
                assembly.add(request)
        except BadRow as bad:
            tally.skip(line, bad)
    return assembly.build("usage")


def _request(row: list[str], line: int, path: str) -> Request | None:
    stamp, model, asked, answered, total, session, elapsed = (field.strip() for field in row)
    sent, received = count_in(asked, "Request tokens"), count_in(answered, "Response tokens")
    if total and count_in(total, "Total tokens") != sent + received:
        raise BadRow("bad counter", "Total tokens is not the sum of the others")
    if not received:
        return None
    start, took = _time(stamp), _time(elapsed)
    return Request(
        id=f"#{line}",
        lane=session or MAIN,
        model=model,
        provider="openai",
        start=start,
        end=None if start is None or took is None else start + took,
        usage=input_includes_cached(sent, None, None, received),
        source=Source(path, line),
    )


def _time(seconds: str) -> int | None:
    whole, _, part = seconds.partition(".")
    if not (whole.isascii() and whole.isdecimal()) or (part and not (part.isascii() and part.isdecimal())):
        return None
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0")) if len(whole) < 11 else None
