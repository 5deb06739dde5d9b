"""Logs of Inspect AI: evaluations with the calls of each sample, as one JSON document or packed (``*.eval``).

A sample is a session. Where the log holds the call as it went over the wire, its bodies are read, and its counters by
the API's own convention; where it does not, the messages are those that the program meant to send, and what Inspect
counts as input holds cached tokens or not as its total proves.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import convention_told, usage_by
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.capture_files import raise_nothing_found
from agentsim.traces.exchanges import Exchange, sessions_of
from agentsim.traces.hostile_records import Tally, TraceError, tell_or_raise
from agentsim.traces.json_documents import MAX_DOCUMENT_BYTES, read_document
from agentsim.traces.readers.pairs import Fields, exchange_of
from agentsim.traces.session_assembly import stem
from agentsim.traces.time_stamps import nanoseconds

NAME = "inspect-ai"
DESCRIPTION = "Inspect AI logs of evaluations (*.eval, *.json)"
VERIFIED = True

_ZIP = b"PK\x03\x04"
_MEMBERS = 100_000
_ATTACHMENT = "attachment://"
_DEEPEST = 100


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    input_tokens_cache_write: Count | None = None
    input_tokens_cache_read: Count | None = None


class _Output(msgspec.Struct, gc=False):
    model: str | None = None
    usage: _Usage | None = None


class _Call(msgspec.Struct, gc=False):
    request: Any = None
    response: Any = None


class _Event(msgspec.Struct, gc=False):
    event: str | None = None
    model: str | None = None
    timestamp: str | None = None
    completed: str | None = None
    input: Any = None
    tools: Any = None
    output: _Output | None = None
    call: _Call | None = None


class _Kind(msgspec.Struct, gc=False):
    event: str | None = None


class _Sample(msgspec.Struct, gc=False):
    id: str | int | None = None
    epoch: int | None = None
    events: list[msgspec.Raw] = msgspec.field(default_factory=list)
    attachments: dict[str, Any] | None = None


class _Document(msgspec.Struct, gc=False):
    samples: list[msgspec.Raw] = msgspec.field(default_factory=list)


_documents = msgspec.json.Decoder(_Document)
_samples = msgspec.json.Decoder(_Sample)
_events = msgspec.json.Decoder(_Event)
_kinds = msgspec.json.Decoder(_Kind)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a log of an evaluation."""
    if head.startswith(_ZIP):
        return path.lower().endswith(".eval") or b"_journal/start.json" in head[:256] or b"header.json" in head[:256]
    start = head.lstrip()[:65_536]
    return start.startswith(b"{") and b'"eval"' in start and b'"task"' in start and b'"eval_id"' in start


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these logs, one for each sample. What is wrong with a file is told in ``problems``; without that
    list OSError is raised for it."""
    seen: set[str] = set()
    for path in paths:
        tally = Tally(path)
        wire: list[bool] = []
        try:
            exchanges = list(_exchanges(path, tally, wire))
            found = sessions_of(
                exchanges,
                format=NAME,
                name=stem(path),
                tally=tally,
                files=(path,),
                seen=seen,
                of_wire=all(wire),
            )
            if not found:
                raise_nothing_found(path, tally, problems, "call of a model with its counters")
        except OSError as error:
            tell_or_raise(error, path, problems)
        else:
            yield from found


def _exchanges(path: str, tally: Tally, wire: list[bool]) -> Iterator[Exchange]:
    for number, raw in enumerate(_raw_samples(path, tally), 1):
        try:
            sample = decode(_samples, raw)
        except BadRow as bad:
            tally.rows += 1
            tally.skip(number, bad)
            continue
        name = f"{stem(path)}/{sample.id}" + (f"/{sample.epoch}" if (sample.epoch or 1) != 1 else "")
        for event_raw in sample.events:
            try:
                if decode(_kinds, event_raw).event != "model":
                    continue
                tally.rows += 1
                made = _exchange(decode(_events, event_raw), sample.attachments or {}, name, Source(path, number))
            except BadRow as bad:
                tally.rows += bad.reason == "not an object"
                tally.skip(number, bad)
                continue
            if made is None:
                tally.not_billable += 1
                continue
            wire.append(made[1])
            yield made[0]


def _raw_samples(path: str, tally: Tally) -> Iterator[bytes]:
    with open(path, "rb") as file:
        packed = file.read(4) == _ZIP
    if not packed:
        for raw in read_document(path, _documents).samples:
            yield bytes(raw)
        return
    left = MAX_DOCUMENT_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.startswith("samples/")]
            for member in sorted(members[:_MEMBERS], key=lambda one: one.filename):
                # The size that is written there may be a lie: no more is unpacked than is left of what is allowed.
                with archive.open(member) as stream:
                    data = stream.read(left + 1)
                left -= len(data)
                if left < 0:
                    tally.rows += 1
                    tally.skip(0, BadRow("too long", f"more than {MAX_DOCUMENT_BYTES >> 20} MiB unpacked"))
                    return
                yield data
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise TraceError(path, f"not a readable archive ({error})", "log in the format json, or get it anew") from None
    except OSError:
        raise
    except Exception as error:  # zlib.error and its kin of other ways of packing
        raise TraceError(path, "damaged where it is packed", "get it anew") from error


def _exchange(event: _Event, attachments: dict[str, Any], session: str, source: Source) -> tuple[Exchange, bool] | None:
    """The call of an event, and whether it is what went over the wire."""
    output = event.output or _Output()
    declared, _, model = (event.model or "").partition("/")
    if declared == "openai-api":  # any server that speaks it, named behind
        declared, _, model = model.partition("/")
    start, end = nanoseconds(event.timestamp), nanoseconds(event.completed)
    call = event.call
    if call is not None and isinstance(call.request, dict) and isinstance(call.response, dict):
        row = {"request": call.request, "response": call.response, "provider": declared or None, "session": session}
        fields: Fields = {name: _raw(_resolved(value, attachments, 0)) for name, value in row.items() if value}
        found = exchange_of(fields, source)
        return msgspec.structs.replace(found, start=start, end=end), True
    if output.usage is None:
        return None
    body = {"model": output.model or model, "messages": _messages(event.input), "tools": _tools(event.tools)}
    told = output.usage
    parts = (told.input_tokens, told.input_tokens_cache_read, told.input_tokens_cache_write, told.output_tokens)
    convention = convention_told(*parts, told.total_tokens)
    if convention is None and (parts[1] or parts[2]):
        raise BadRow("unclear convention", "usage.input_tokens")
    reply = MessagesReply(model=output.model or model, usage=usage_by(convention or "includes", *parts))
    exchange = Exchange(
        body=bytes(_raw(_resolved(body, attachments, 0))),
        source=source,
        api="chat",
        reply=reply,
        start=start,
        end=end,
        session=session,
        provider=declared or None,
    )
    return exchange, False


def _messages(given: object) -> list[dict[str, Any]]:
    made = []
    for message in given if isinstance(given, list) else ():
        if not isinstance(message, dict):
            raise BadRow("bad field", "input[]")
        kept = {name: message[name] for name in ("role", "content", "tool_call_id") if message.get(name) is not None}
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            kept["tool_calls"] = [
                {"type": "function", "id": call.get("id"), "function": {"name": call.get("function"),
                 "arguments": call.get("arguments")}}
                for call in calls if isinstance(call, dict)
            ]  # fmt: skip
        made.append(kept)
    return made


def _tools(given: object) -> list[dict[str, Any]]:
    return (
        [{"type": "function", "function": tool} for tool in given if isinstance(tool, dict)]
        if isinstance(given, list)
        else []
    )


def _resolved(value: Any, attachments: dict[str, Any], depth: int) -> Any:
    """A value with its long texts, which the log keeps apart, in their places."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        found = attachments.get(value.removeprefix(_ATTACHMENT))
        return found if isinstance(found, str) else value
    if depth >= _DEEPEST:
        return value
    if isinstance(value, dict):
        return {name: _resolved(inner, attachments, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolved(inner, attachments, depth + 1) for inner in value]
    return value


def _raw(value: object) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.encode(value))
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError, OverflowError, ValueError):
        raise BadRow("bad field", "call") from None
