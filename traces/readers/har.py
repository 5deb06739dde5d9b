"""HAR 1.2 archives of HTTP traffic, as browsers and proxies write them: whole bodies and their responses.

Usage convention: by the API called. ``input_tokens`` of the Messages API excludes cached tokens, the totals of OpenAI's
APIs include them. A request starts at
``startedDateTime``, its first token comes after ``timings.send`` and ``timings.wait``, and it ends after ``time``
milliseconds. Headers may hold live keys: only the few that are used are picked out, the others are never kept.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.api_shapes import Api, api_of, model_in
from agentsim.bodies.captured_calls import body_to_read, read_answered
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.header_fields import HeaderFields, told_by
from agentsim.traces.hostile_records import Tally
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import stem
from agentsim.traces.time_stamps import nanoseconds

NAME = "har"
DESCRIPTION = "HAR 1.2 archives (*.har) with Messages, Chat Completions or Responses calls (from descriptions)"
VERIFIED = False

_LONGEST = 10**10
"""Milliseconds; a longer call cannot be meant."""


class _Header(msgspec.Struct, gc=False):
    name: str = ""
    value: str = ""


class _Post(msgspec.Struct, gc=False):
    text: str | None = None


class _Request(msgspec.Struct, gc=False):
    url: str = ""
    headers: list[_Header] = []
    postData: _Post | None = None


class _Content(msgspec.Struct, gc=False):
    text: str | None = None
    encoding: str | None = None


class _Response(msgspec.Struct, gc=False):
    status: int | None = None
    headers: list[_Header] = []
    content: _Content | None = None


class _Timings(msgspec.Struct, gc=False):
    send: float | None = None
    wait: float | None = None


class _Entry(msgspec.Struct, gc=False):
    request: _Request
    startedDateTime: str | None = None
    time: float | None = None
    timings: _Timings | None = None
    response: _Response | None = None


class _Log(msgspec.Struct, gc=False):
    entries: list[msgspec.Raw]


class _Archive(msgspec.Struct, gc=False):
    log: _Log


_archives = msgspec.json.Decoder(_Archive)
_entries = msgspec.json.Decoder(_Entry)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like an archive."""
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and b'"log"' in start and b'"creator"' in start and b'"version"' in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these archives. A response that came before (in the same or another file) is counted once.

    The line of a source is the number of the entry. What is wrong with a file is told in ``problems``; without that
    list, OSError is raised for a file that cannot be read and its subclass TraceError for one without a usable pair.
    """
    captures = [(path, stem(path)) for path in paths]
    wanted = "request to a known API with its response"
    yield from read_captures(captures, problems, _exchanges_of, format=NAME, wanted=wanted)


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    entries = read_document(path, _archives).log.entries
    for number, raw in enumerate(entries, 1):
        tally.rows += 1
        try:
            entry = decode(_entries, raw)
            api = api_of(entry.request.url)
            if api is None:
                tally.not_billable += 1
                continue
            yield _exchange(entry, api, Source(path, number))
        except BadRow as bad:
            tally.skip(number, bad)


def _exchange(entry: _Entry, api: Api, source: Source) -> Exchange:
    request, response = entry.request, entry.response
    asked = _told(request.headers)
    answered = _told(response.headers) if response is not None else HeaderFields()
    text = request.postData.text if request.postData is not None else None
    if not text:
        raise BadRow("not a Messages request", "the body was not recorded")
    status = None if response is None or not response.status else response.status
    start = nanoseconds(entry.startedDateTime)
    timings = entry.timings or _Timings()
    told = None if response is None or status is None or status >= 400 else read_answered(_data(response), api)
    return Exchange(
        body=body_to_read(text.encode("utf-8", "surrogatepass"), api, model_in(request.url)),
        source=source,
        api=api,
        reply=None if told is None else told.reply,
        output=() if told is None else told.output,
        status=status,
        start=start,
        first_token=_after(start, timings.send, timings.wait) if timings.wait is not None else None,
        end=_after(start, entry.time),
        session=asked.session,
        request_id=answered.request_id,
        harness=asked.harness,
        harness_version=asked.harness_version,
        betas=asked.betas,
        address=request.url,
        account=asked.account or answered.account,
        routed=asked.routed,
    )


def _told(headers: Sequence[_Header]) -> HeaderFields:
    return told_by({header.name: msgspec.Raw(msgspec.json.encode(header.value)) for header in headers})


def _after(start: int | None, *durations: float | None) -> int | None:
    """A time so many milliseconds later. HAR writes -1 for a part that does not apply."""
    if start is None or all(duration is None for duration in durations):
        return None
    total = sum(duration for duration in durations if duration is not None and duration > 0)
    return start + round(total * 1_000_000) if total < _LONGEST else None


def _data(response: _Response) -> bytes:
    content = response.content
    if content is None or not content.text:
        raise BadRow("no response", "the body was not recorded")
    data = content.text.encode("utf-8", "surrogatepass")
    if content.encoding == "base64":
        try:
            data = base64.b64decode(data, validate=False)
        except (binascii.Error, ValueError):
            raise BadRow("no response", "the body is not base64") from None
    return data
