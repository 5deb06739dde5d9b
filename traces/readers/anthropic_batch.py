"""Anthropic Message Batches: a file of requests and a file of results, in any order, joined by ``custom_id``.

Usage convention: that of the Messages API, ``input_tokens`` excludes cached tokens. All parts cost half: the service
tier is ``batch``, also where a result does not say so. There are no times. Results without their requests are left out,
for they hold no prompt; results that failed are not billed. Requests keep the order in which they were asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.messages_replies import read_message
from agentsim.bodies.messages_usage import ABSENT
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.capture_files import raise_nothing_found
from agentsim.traces.exchanges import Exchange, sessions_of
from agentsim.traces.hostile_records import Tally, rows_of, tell_or_raise
from agentsim.traces.session_assembly import stem

NAME = "anthropic-batch"
DESCRIPTION = "Anthropic Message Batches: requests and results together (from descriptions)"
VERIFIED = False


class _Result(msgspec.Struct, gc=False):
    type: str = ""
    message: msgspec.Raw = ABSENT


class _Row(msgspec.Struct, gc=False):
    custom_id: str
    params: msgspec.Raw = ABSENT
    result: _Result | None = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like the requests or the results of a batch."""
    start = head.lstrip()[:4096]
    if not start.startswith(b"{") or b'"custom_id"' not in head:
        return False
    return b'"params"' in head or (b'"result"' in head and b'"type"' in head and b'"response"' not in start)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of these files, which belong together: one for all of them, named after the first.

    What is wrong with a file is told in ``problems``; without that list, OSError is raised for a file that cannot be
    read and its subclass TraceError where no result has its request.
    """
    if not paths:
        return
    tally = Tally(paths[0])
    bodies: dict[str, tuple[Source, bytes]] = {}
    results: list[tuple[Source, _Row]] = []
    for path in paths:
        try:
            _take(path, tally, bodies, results)
        except OSError as error:
            tell_or_raise(error, path, problems)
    exchanges = _exchanges_of(results, bodies, tally)
    found = sessions_of(exchanges, format=NAME, name=stem(paths[0]), tally=tally, files=tuple(paths), seen=set())
    if found:
        yield from found
        return
    try:
        raise_nothing_found(paths[0], tally, problems, "result of a batch with its request")
    except OSError as error:
        tell_or_raise(error, paths[0], problems)


def _take(path: str, tally: Tally, bodies: dict[str, tuple[Source, bytes]], results: list[tuple[Source, _Row]]) -> None:
    for raw in rows_of(path, _rows):
        tally.rows += 1
        try:
            row = raw.checked()
            if row.result is not None:
                results.append((Source(path, raw.line), row))
            elif row.params:
                bodies.setdefault(row.custom_id, (Source(path, raw.line), bytes(row.params)))
                tally.not_billable += 1  # a request is billed by its result
            else:
                raise BadRow("unknown record", "neither params nor result")
        except BadRow as bad:
            tally.skip(raw.line, bad, path)


def _exchanges_of(
    results: Sequence[tuple[Source, _Row]], bodies: dict[str, tuple[Source, bytes]], tally: Tally
) -> Iterator[Exchange]:
    for source, row in results:
        try:
            assert row.result is not None
            if row.result.type != "succeeded":
                tally.not_billable += 1
                continue
            asked = bodies.get(row.custom_id)
            if asked is None:
                raise BadRow("no request", "its request is in none of these files")
            if not row.result.message:
                raise BadRow("no response", "a result without its message")
            reply = msgspec.structs.replace(read_message(row.result.message), service_tier="batch")
            yield Exchange(body=asked[1], source=asked[0], reply=reply, request_id=row.custom_id)
        except BadRow as bad:
            tally.skip(source.line, bad, source.file)
