"""JSON lines of a request and its response, under whatever names a logger gave them.

A row holds a request body (an object with ``messages``, or the ``input`` of OpenAI's responses) and beside it a
response (an object with ``usage``, the text of a stream, or a list of its events) or the bare ``usage``. Both may be
wrapped once (``{"body": ...}``) or be JSON inside a string. The names of the counters tell whether cached tokens are
part of the input. Times and ids are taken where they have a usual name, and are unknown otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies import openai_replies
from agentsim.bodies.api_shapes import Api, api_of, model_in
from agentsim.bodies.captured_calls import body_to_read, read_answered
from agentsim.bodies.messages_replies import read_message
from agentsim.bodies.openai_replies import OpenAIReply
from agentsim.bodies.sse import is_stream, read_events, read_stream
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.header_fields import HeaderFields, told_by
from agentsim.traces.hostile_records import Tally, calls_in, rows_of
from agentsim.traces.session_assembly import stem
from agentsim.traces.time_stamps import nanoseconds, unix_nanoseconds

NAME = "pairs"
DESCRIPTION = "JSON lines of {request, response}: a Messages or OpenAI body beside its response, usage or stream"
VERIFIED = False

REQUEST_NAMES = ("request", "request_body", "requestBody", "body", "input", "params")
RESPONSE_NAMES = ("response", "response_body", "responseBody", "output", "message", "result")
BODY_NAMES = ("body", "json", "data", "content", "body_raw", "text", "message")
START_NAMES = ("start", "start_time", "startTime", "started_at", "request_time", "request_timestamp", "timestamp")
END_NAMES = ("end", "end_time", "endTime", "ended_at", "completed_at", "response_time", "response_timestamp")
FIRST_TOKEN_NAMES = ("first_token", "first_token_time", "completionStartTime", "completion_start_time")
SESSION_NAMES = ("session", "session_id", "sessionId", "conversation_id")
PROVIDER_NAMES = ("provider", "custom_llm_provider", "llm_provider")
ADDRESS_NAMES = ("url", "uri", "api_base", "base_url", "endpoint")
HOST_NAMES = ("host", "server")
ACCOUNT_NAMES = ("account", "account_id", "organization", "organization_id")
ID_NAMES = ("request_id", "requestId", "id")
STATUS_NAMES = ("status", "status_code", "statusCode")

Fields = dict[str, msgspec.Raw]

_RESPONSES_WORDS = (b'"instructions"', b'"prompt_cache_', b'"max_output_tokens"', b'"input_tokens_details"')
_OPENAI_COUNTERS = frozenset(
    ("prompt_tokens", "prompt_tokens_details", "input_tokens_details", "prompt_cache_hit_tokens")
)
_COUNTED = frozenset(("usage", "usageMetadata", "candidates", "output", "response"))
_OPENAI_EVENT = re.compile(rb'"chat\.completion\.chunk"|"type":\s*"response\.[a-z_.]+"')


class _PairedAnswer(msgspec.Struct, frozen=True):
    """An answer, and whether its counters are those of OpenAI's APIs."""

    answered: OpenAIReply
    by_openai: bool


class _Speaker(msgspec.Struct, gc=False):
    role: str | None = None


class _Tool(msgspec.Struct, gc=False):
    function: msgspec.Raw = msgspec.Raw(b"")


_fields = msgspec.json.Decoder(Fields)
_speakers = msgspec.json.Decoder(list[_Speaker])
_tools = msgspec.json.Decoder(list[_Tool])
_text = msgspec.json.Decoder(str)
_events = msgspec.json.Decoder(list[msgspec.Raw])
_status = msgspec.json.Decoder(int)


def detect(head: bytes, path: str) -> bool:
    """Whether the beginning of a file looks like requests with their responses."""
    start = head.lstrip()
    if not start.startswith(b"{") or start[:4096].partition(b"\n")[0].strip() == b"{":
        return False  # a document over many lines is none of rows
    bare = start.replace(b"\\", b"")
    is_responses = b'"response' in bare and b'"input"' in bare and any(word in bare for word in _RESPONSES_WORDS)
    is_gemini = b'"contents"' in bare and b'"usageMetadata"' in bare
    if b'"messages' not in bare and not is_responses and not is_gemini:
        return False
    names = [name.encode() for name in REQUEST_NAMES]
    return any(b'"' + name + b'"' in start for name in names)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these files. A response that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list, OSError is raised for a file that cannot be
    read and its subclass TraceError for one without a usable pair.
    """
    captures = [(path, stem(path)) for path in paths]
    wanted = "request to a known API with its response or usage"
    yield from read_captures(captures, problems, _exchanges_of, format=NAME, wanted=wanted)


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    yield from calls_in(rows_of(path, _fields), tally, lambda row, line: exchange_of(row, Source(path, line)))


def exchange_of(row: Fields, source: Source) -> Exchange:
    """The exchange that a row holds. Raises BadRow when there is no request body in it."""
    request, request_fields = _request(row)
    told = None
    response_fields = _response_fields(row)
    around = (request_fields, row)
    after = (response_fields, row) if response_fields is not None else (row,)
    asked = told_by(_headers(request_fields))
    answered = told_by(_headers(response_fields)) if response_fields is not None else HeaderFields()
    status = _first_status(after)
    start = _first_time(around, START_NAMES)
    end = _first_time((row,), END_NAMES)
    if end is None and response_fields is not None:
        end = _first_time((response_fields,), (*END_NAMES, "timestamp"))
    address = _first_text(around, ADDRESS_NAMES)
    api = _api_called(address, request)
    if status is None or status < 400:
        told = _reply(row) if api is None else _answer(row, api)
    if api is None:
        api = _api(request, told)
    return Exchange(
        body=body_to_read(request, api, model_in(address) if address else None),
        source=source,
        api=api,
        reply=None if told is None else told.answered.reply,
        output=() if told is None else told.answered.output,
        status=status,
        start=start,
        first_token=_first_time((row,), FIRST_TOKEN_NAMES),
        end=end if end is None or start is None or end >= start else None,
        session=asked.session or _first_text((row,), SESSION_NAMES),
        request_id=answered.request_id or _first_text((row,), ID_NAMES),
        harness=asked.harness,
        harness_version=asked.harness_version,
        betas=asked.betas,
        provider=_first_text(around, PROVIDER_NAMES),
        address=address or asked.host,
        host=_first_text((row,), HOST_NAMES),
        account=_first_text((row,), ACCOUNT_NAMES) or asked.account or answered.account,
        routed=asked.routed,
    )


def _api_called(address: str | None, request: bytes) -> Api | None:
    """The API of a call that only its provider's servers have, by its address or by its body."""
    api = api_of(address) if address else None
    if api in ("generate", "converse"):
        return api
    fields = decode(_fields, request)
    if "contents" in fields or "request" in fields:
        return "generate"
    if not address and "messages" in fields and ("toolConfig" in fields or "inferenceConfig" in fields):
        return "converse"
    return None


def _answer(row: Fields, api: Api) -> _PairedAnswer | None:
    """The answer of an API whose counters have names of their own."""
    for name in RESPONSE_NAMES:
        raw = row.get(name)
        if _absent(raw):
            continue
        assert raw is not None
        fields = _object(raw)
        inner = next((fields[one] for one in BODY_NAMES if one in fields), raw) if fields is not None else raw
        whole = fields is None or not _COUNTED.isdisjoint(fields)
        return _PairedAnswer(read_answered(_json(raw if whole else inner), api), False)
    return None


def _api(request: bytes, told: _PairedAnswer | None) -> Api:
    """Whose body it is: only responses have an input; of the two others the answer's counters tell. Raises BadRow for
    a body of one API with the counters of the other: a gateway translated, and what it did to them is not known."""
    fields = decode(_fields, request)
    if "messages" not in fields:
        return "responses"
    if _is_chat(fields):
        return "chat"
    if told is not None and told.by_openai and "system" in fields:
        raise BadRow("other provider", "usage.prompt_tokens includes cached tokens; input_tokens is expected")
    return "chat" if told is not None and told.by_openai else "messages"


def _is_chat(fields: Fields) -> bool:
    """Whether a body can be of chat completions only: by who speaks in it, and how its tools are declared."""
    try:
        speakers = {message.role for message in decode(_speakers, fields["messages"])}
        tools = decode(_tools, fields["tools"]) if not _absent(fields.get("tools")) else []
    except BadRow:
        return False
    return not speakers.isdisjoint(("system", "developer", "tool", "function")) or any(
        bytes(tool.function)[:1] == b"{" for tool in tools
    )


def _is_body(fields: Fields) -> bool:
    return "messages" in fields or "contents" in fields or ("input" in fields and "model" in fields)


def _request(row: Fields) -> tuple[bytes, Fields]:
    """The request's body, and the fields of what holds it."""
    for name in REQUEST_NAMES:
        found = _object(row.get(name))
        if found is None:
            continue
        if _is_body(found):
            return _json(row[name]), found
        for inner in BODY_NAMES:
            body = _object(found.get(inner))
            if body is not None and _is_body(body):
                return _json(found[inner]), found
    if _is_body(row):
        return msgspec.json.encode(row), row
    raise BadRow("not a Messages request", "no request with messages in the row")


def _response_fields(row: Fields) -> Fields | None:
    for name in RESPONSE_NAMES:
        found = _object(row.get(name))
        if found is not None:
            return found
    return None


def _reply(row: Fields) -> _PairedAnswer | None:
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
        return _whole(msgspec.json.encode({"usage": row["usage"]}), row["usage"])
    return None


def _reply_in(raw: msgspec.Raw) -> _PairedAnswer | None:
    """A reply, if this JSON is one: an object with usage, the text of a stream, or a list of its events."""
    data = _json(raw)
    if data[:1] == b"{":
        fields = decode(_fields, data)
        return _whole(data, fields["usage"]) if "usage" in fields else None
    if data[:1] == b"[":
        events = decode(_events, data)
        if not events:
            return None
        texts = [_json(event) for event in events]
        if _OPENAI_EVENT.search(texts[0]):
            return _PairedAnswer(
                openai_replies.read_stream(b"".join(b"data: " + text + b"\n\n" for text in texts)), True
            )
        return _PairedAnswer(OpenAIReply(read_events(texts)), False)
    if is_stream(data):
        if _OPENAI_EVENT.search(data[:4096]):
            return _PairedAnswer(openai_replies.read_stream(data), True)
        return _PairedAnswer(OpenAIReply(read_stream(data)), False)
    return None


def _whole(data: bytes, usage: msgspec.Raw) -> _PairedAnswer:
    """A whole answer; whose convention its counters have is told by their names."""
    by_openai = not _OPENAI_COUNTERS.isdisjoint(_object(usage) or ())
    return _PairedAnswer(openai_replies.read_answer(data) if by_openai else OpenAIReply(read_message(data)), by_openai)


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
