"""JSON lines of a request and its response, under whatever names a logger gave them.

A row holds a request body (an object with ``messages``) and beside it a response (an object with ``usage``, the text of
a stream, or a list of its events) or the bare ``usage``. Both may be wrapped once (``{"body": ...}``) or be JSON inside
a string. Times and ids are taken where they have a usual name, and are unknown otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.session import Problem, Session, Source
from traces.exchanges import Exchange, raise_nothing_found, sessions_of
from traces.headers import Told, told_by
from traces.records import BadRow, Tally, decode, rows_of, tell_or_raise
from traces.replies import Reply, read_message
from traces.sse import read_events, read_stream
from traces.stamps import nanoseconds, unix_nanoseconds

NAME = "pairs"
DESCRIPTION = "JSON lines of {request, response}: a Messages body beside its response, usage or stream"
VERIFIED = False

REQUEST_NAMES = ("request", "request_body", "requestBody", "body", "input", "params")
RESPONSE_NAMES = ("response", "response_body", "responseBody", "output", "message", "result")
BODY_NAMES = ("body", "json", "data", "content", "body_raw", "text", "message")
START_NAMES = ("start", "start_time", "startTime", "started_at", "request_time", "request_timestamp", "timestamp")
END_NAMES = ("end", "end_time", "endTime", "ended_at", "completed_at", "response_time", "response_timestamp")
FIRST_TOKEN_NAMES = ("first_token", "first_token_time", "completionStartTime", "completion_start_time")
SESSION_NAMES = ("session", "session_id", "sessionId", "conversation_id")
ID_NAMES = ("request_id", "requestId", "id")
STATUS_NAMES = ("status", "status_code", "statusCode")

Fields = dict[str, msgspec.Raw]

_fields = msgspec.json.Decoder(Fields)
_text = msgspec.json.Decoder(str)
_events = msgspec.json.Decoder(list[msgspec.Raw])
_status = msgspec.json.Decoder(int)


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like requests with their responses."""
    start = head.lstrip()
    if not start.startswith(b"{") or b'"messages' not in start.replace(b"\\", b""):
        return False
    names = [name.encode() for name in REQUEST_NAMES]
    return any(b'"' + name + b'"' in start for name in names)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these files. A response that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list, OSError is raised for a file that cannot be
    read and its subclass TraceError for one without a usable pair.
    """
    seen: set[str] = set()
    for path in paths:
        tally = Tally(path)
        try:
            exchanges = _exchanges_of(path, tally)
            name = os.path.splitext(os.path.basename(path))[0]
            sessions = sessions_of(exchanges, format=NAME, name=name, tally=tally, files=(path,), seen=seen)
            if not sessions:
                raise_nothing_found(path, tally, problems, "Messages request with its response or usage")
        except OSError as error:
            tell_or_raise(error, path, problems)
        else:
            yield from sessions


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    for raw in rows_of(path, _fields):
        tally.rows += 1
        try:
            yield exchange_of(raw.checked(), Source(path, raw.line))
        except BadRow as bad:
            tally.skip(raw.line, bad)


def exchange_of(row: Fields, source: Source) -> Exchange:
    """The exchange that a row holds. Raises BadRow when there is no request body in it."""
    request, request_fields = _request(row)
    response_fields = _response_fields(row)
    around = (request_fields, row)
    after = (response_fields, row) if response_fields is not None else (row,)
    asked = told_by(_headers(request_fields))
    answered = told_by(_headers(response_fields)) if response_fields is not None else Told()
    status = _first_status(after)
    start = _first_time(around, START_NAMES)
    end = _first_time((row,), END_NAMES)
    if end is None and response_fields is not None:
        end = _first_time((response_fields,), (*END_NAMES, "timestamp"))
    return Exchange(
        body=request,
        source=source,
        reply=None if status is not None and status >= 400 else _reply(row),
        status=status,
        start=start,
        first_token=_first_time((row,), FIRST_TOKEN_NAMES),
        end=end if end is None or start is None or end >= start else None,
        session=asked.session or _first_text((row,), SESSION_NAMES),
        request_id=answered.request_id or _first_text((row,), ID_NAMES),
        harness=asked.harness,
        harness_version=asked.harness_version,
        betas=asked.betas,
    )


def _request(row: Fields) -> tuple[bytes, Fields]:
    """The request's body, and the fields of what holds it."""
    for name in REQUEST_NAMES:
        found = _object(row.get(name))
        if found is None:
            continue
        if "messages" in found:
            return _json(row[name]), found
        for inner in BODY_NAMES:
            body = _object(found.get(inner))
            if body is not None and "messages" in body:
                return _json(found[inner]), found
    if "messages" in row:
        return msgspec.json.encode(row), row
    raise BadRow("not a Messages request", "no request with messages in the row")


def _response_fields(row: Fields) -> Fields | None:
    for name in RESPONSE_NAMES:
        found = _object(row.get(name))
        if found is not None:
            return found
    return None


def _reply(row: Fields) -> Reply | None:
    for name in RESPONSE_NAMES:
        raw = row.get(name)
        if _absent(raw):
            continue
        assert raw is not None
        reply = _reply_in(raw)
        if reply is not None:
            return reply
        fields = _object(raw)
        for inner in BODY_NAMES:
            body = fields.get(inner) if fields is not None else None
            if body is not None and (reply := _reply_in(body)) is not None:
                return reply
    if not _absent(row.get("usage")):
        return read_message(msgspec.json.encode({"usage": row["usage"]}))
    return None


def _reply_in(raw: msgspec.Raw) -> Reply | None:
    """A reply, if this JSON is one: an object with usage, the text of a stream, or a list of its events."""
    data = _json(raw)
    if data[:1] == b"{":
        return read_message(data) if "usage" in decode(_fields, data) else None
    if data[:1] == b"[":
        events = decode(_events, data)
        return read_events(_json(event) for event in events) if events else None
    if data.lstrip().startswith((b"event:", b"data:")):
        return read_stream(data)
    return None


def _json(raw: msgspec.Raw) -> bytes:
    """The bytes of a value; of a string, what it holds: JSON, or a stream."""
    data = bytes(raw)
    return decode(_text, data).encode("utf-8", "surrogatepass") if data[:1] == b'"' else data


def _object(raw: msgspec.Raw | None) -> Fields | None:
    if raw is None:
        return None
    try:
        data = _json(raw)
        return decode(_fields, data) if data[:1] == b"{" else None
    except BadRow:
        return None


def _absent(raw: msgspec.Raw | None) -> bool:
    return raw is None or bytes(raw) == b"null"


def _headers(fields: Fields) -> Fields | None:
    return _object(fields.get("headers"))


def _first_time(places: Sequence[Fields], names: Sequence[str]) -> int | None:
    for fields in places:
        for name in names:
            raw = fields.get(name)
            if raw is None:
                continue
            data = bytes(raw)
            try:
                time = nanoseconds(decode(_text, data)) if data[:1] == b'"' else unix_nanoseconds(data)
            except BadRow:
                continue
            if time is not None:
                return time
    return None


def _first_text(places: Sequence[Fields], names: Sequence[str]) -> str | None:
    for fields in places:
        for name in names:
            raw = fields.get(name)
            if raw is not None and bytes(raw)[:1] == b'"':
                try:
                    return decode(_text, raw) or None
                except BadRow:
                    continue
    return None


def _first_status(places: Sequence[Fields]) -> int | None:
    for fields in places:
        for name in STATUS_NAMES:
            raw = fields.get(name)
            if raw is not None:
                try:
                    status = decode(_status, raw)
                except BadRow:
                    continue
                if 100 <= status < 600:
                    return status
    return None
