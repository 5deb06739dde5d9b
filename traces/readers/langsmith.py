"""LangSmith runs of models (``run_type`` ``llm``), as JSON lines, an array, or pages of its API.

Usage convention: ``usage_metadata.input_tokens`` includes what was read from and written to a cache (checked: what is
left is not negative). Where writes are split by lifetime, the counter of all writes may be 0: the larger of the two
counts.

Runs hold the messages that a program handed to its model, in the library's own shape or in that of Chat Completions.
Where every run does, they are compared as they stand; tools are those of ``invocation_params``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, counter
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.export_rows import add_in_order, export_rows
from agentsim.traces.hostile_records import Tally, calls_in
from agentsim.traces.langchain_messages import chat_messages
from agentsim.traces.logged_prompts import chat_body, held_in, read_better
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, stem
from agentsim.traces.time_stamps import nanoseconds

NAME = "langsmith"
DESCRIPTION = "LangSmith runs of models, exported or from its API (from descriptions)"
VERIFIED = False

WANTED = "run of a model with its counters"

Json = dict[str, Any]
DEEPEST = 6


class _Row(msgspec.Struct, gc=False):
    run_type: str | None = None
    id: str | None = None
    trace_id: str | None = None
    session_id: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    first_token_time: str | None = None
    error: msgspec.Raw = msgspec.Raw(b"")
    inputs: Json | None = None
    outputs: Json | None = None
    extra: Json | None = None


_rows = msgspec.json.Decoder(_Row)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like runs."""
    return head.lstrip()[:1] in (b"{", b"[") and b'"run_type"' in head and b'"start_time"' in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each conversation in it (each trace, where none is told) is a lane, and a session of
    its own where every run holds its messages. What is wrong with a file is told in ``problems``; without that list
    OSError is raised for it."""
    seen: set[str] = set()
    for path in paths:
        as_rows = partial(_by_counters, path)
        held = held_in(partial(export_rows, path, _rows), _is_billed, _messages, _parameters, _model)
        if held == "nothing":
            yield from as_rows(problems, seen)
        else:
            yield from read_better(partial(_by_prompts, path, held == "request"), as_rows, problems, seen)


def _by_counters(path: str, problems: list[Problem] | None, seen: set[str]) -> Iterator[Session]:
    return read_each([path], problems, lambda path: _session(path, seen), WANTED)


def _by_prompts(path: str, of_wire: bool, problems: list[Problem] | None, seen: set[str]) -> Iterator[Session]:
    named = [(path, stem(path))]
    return read_captures(named, problems, _exchanges_of, format=NAME, wanted=WANTED, of_wire=of_wire, seen=seen)


def _messages(row: _Row) -> list[Json]:
    return chat_messages(row.inputs)


def _parameters(row: _Row) -> Json:
    return _object((row.extra or {}).get("invocation_params"))


def _model(row: _Row) -> str:
    metadata = _object((row.extra or {}).get("metadata"))
    return _text(metadata, "ls_model_name") or _text(_parameters(row), "model", "model_name") or ""


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    yield from calls_in(
        export_rows(path, _rows), tally, lambda row, line: _exchange(row, Source(path, line)), billed=_is_billed
    )


def _exchange(row: _Row, source: Source) -> Exchange:
    request = _request(row, source)
    return Exchange(
        body=chat_body(request.model, _messages(row), _parameters(row)),
        source=source,
        api="chat",
        reply=MessagesReply(id=row.id, usage=request.usage),
        start=request.start,
        first_token=request.first_token,
        end=request.end,
        session=None if request.lane == MAIN else request.lane,
        request_id=row.id,
        provider=request.provider,
    )


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    calls = calls_in(
        export_rows(path, _rows),
        assembly.tally,
        lambda row, line: _request(row, Source(path, line)),
        billed=_is_billed,
        seen=seen,
        id_of=lambda row: row.id,
    )
    add_in_order(assembly, calls)
    return assembly.build("usage")


def _is_billed(row: _Row) -> bool:
    failed = bytes(row.error) not in (b"", b"null", b'""')
    return row.run_type == "llm" and (not failed or bool(row.outputs))


def _request(row: _Row, source: Source) -> Request:
    found = _find(row.outputs, "usage_metadata", DEEPEST)
    if found is None:
        raise BadRow("no usage", "outputs.usage_metadata")
    metadata = _object((row.extra or {}).get("metadata"))
    model = _model(row)
    start, first = nanoseconds(row.start_time), nanoseconds(row.first_token_time)
    return Request(
        id=row.id or f"#{source.line}",
        lane=_text(metadata, "thread_id", "conversation_id", "session_id") or row.trace_id or MAIN,
        model=model.rpartition("/")[2],
        provider=provider_of(declared=_text(metadata, "ls_provider"), model=model),
        start=start,
        first_token=first if first is not None and start is not None and first > start else None,
        end=nanoseconds(row.end_time),
        usage=_usage(found),
        source=source,
    )


def _usage(found: Json) -> Usage:
    details = _object(found.get("input_token_details"))
    read = counter(details.get("cache_read"), "cache_read")
    write = counter(details.get("cache_creation"), "cache_creation")
    five = counter(details.get("ephemeral_5m_input_tokens"), "ephemeral_5m_input_tokens")
    hour = counter(details.get("ephemeral_1h_input_tokens"), "ephemeral_1h_input_tokens")
    split = (five or 0) + (hour or 0)
    counts = (write, five, hour)
    written = None if all(count is None for count in counts) else max(write or 0, split)
    usage = input_includes_cached(
        counter(found.get("input_tokens"), "input_tokens"),
        read,
        written,
        counter(found.get("output_tokens"), "output_tokens"),
    )
    if not split or written is None:
        return usage
    return msgspec.structs.replace(usage, write_short=five, write_long=hour, write_other=(written - split) or None)


def _find(value: object, name: str, depth: int) -> Json | None:
    """The first object of this name in a run's outputs: every version of the library nests it elsewhere."""
    if depth and isinstance(value, dict):
        found = value.get(name)
        if isinstance(found, dict):
            return found
        inner: list[object] = list(value.values())
    elif depth and isinstance(value, list):
        inner = value[:8]
    else:
        return None
    return next((found for each in inner if (found := _find(each, name, depth - 1)) is not None), None)


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(place: Json, *names: str) -> str | None:
    return next((value for name in names if isinstance(value := place.get(name), str) and value), None)
