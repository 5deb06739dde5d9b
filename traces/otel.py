"""OpenTelemetry in OTLP JSON: events of Claude Code, and spans by the conventions for generative models.

Usage convention of Claude Code's ``claude_code.api_request``: the parts are disjoint; the lifetime of writes is not
told. The event is written at the end of a call, which began ``duration_ms`` before.
Usage convention of ``gen_ai`` spans: input includes what was read from and written to a cache. A span that states less
input than that counts disjoint parts, as older emitters did, and is taken so. The newest name of an attribute wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.session import Problem, Request, Session, Source, Usage
from traces.assembly import MAIN, Assembly, read_each, stem
from traces.conventions import input_excludes_cached, input_includes_cached, provider_name, provider_of_model
from traces.records import BadRow, Tally, counter, rows_of

NAME = "otel"
DESCRIPTION = "OTLP JSON lines: Claude Code events, gen_ai spans (from descriptions)"
VERIFIED = False

READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.input_tokens.cached",
    "llm.token_count.prompt_details.cache_read",
)
WRITE = (
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.input_tokens.cache_write",
    "llm.token_count.prompt_details.cache_write",
)
INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "model")
CALLS = ("", "chat", "text_completion", "generate_content", "completion")
"""Operations that are calls of a model; agents and tools have spans of their own around and beside them."""

_MILLISECOND = 10**6


class _Attribute(msgspec.Struct, gc=False):
    key: str = ""
    value: dict[str, msgspec.Raw] = {}


class _Record(msgspec.Struct, gc=False):
    """A span, or a record of a log."""

    attributes: list[_Attribute] = []
    name: str = ""
    eventName: str = ""
    spanId: str | None = None
    traceId: str | None = None
    startTimeUnixNano: str | int | None = None
    endTimeUnixNano: str | int | None = None
    timeUnixNano: str | int | None = None
    body: dict[str, msgspec.Raw] = {}


class _Scope(msgspec.Struct, gc=False):
    spans: list[_Record] = []
    logRecords: list[_Record] = []


class _Resource(msgspec.Struct, gc=False):
    scopeSpans: list[_Scope] = []
    scopeLogs: list[_Scope] = []


class _Export(msgspec.Struct, gc=False):
    resourceSpans: list[_Resource] = []
    resourceLogs: list[_Resource] = []


_exports = msgspec.json.Decoder(_Export)
_values: msgspec.json.Decoder[str | int | float | bool | None] = msgspec.json.Decoder(str | int | float | bool | None)

Attributes = dict[str, str | int | float | bool | None]


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like exports in OTLP JSON."""
    start = head.lstrip()[:4096]
    return start.startswith(b"{") and (b'"resourceSpans"' in start or b'"resourceLogs"' in start)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each conversation is a lane. What is wrong with a file is told in ``problems``; without
    that list OSError is raised for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "call of a model")


def _session(path: str, seen: set[str]) -> Session:
    tally = Tally(path)
    assembly = Assembly(stem(path), NAME, tally)
    assembly.files.append(path)
    calls: list[tuple[int, int, Request]] = []
    for raw in rows_of(path, _exports):
        try:
            export = raw.checked()
        except BadRow as bad:
            tally.rows += 1
            tally.skip(raw.line, bad)
            continue
        for is_span, record in _records(export):
            tally.rows += 1
            try:
                request = _request(record, is_span, Source(path, raw.line), len(calls))
            except BadRow as bad:
                tally.skip(raw.line, bad)
                continue
            if request is None:
                tally.not_billable += 1
            elif request.id in seen:
                tally.duplicate += 1
            else:
                seen.add(request.id)
                calls.append((request.start or request.end or 0, len(calls), request))
    # Exporters write a call when it ends, in batches: the order of the lines says little.
    for _, _, request in sorted(calls, key=lambda call: call[:2]):
        assembly.add(request)
    return assembly.build("usage")


def _records(export: _Export) -> Iterator[tuple[bool, _Record]]:
    for resource in export.resourceSpans:
        for scope in resource.scopeSpans:
            yield from ((True, record) for record in scope.spans)
    for resource in export.resourceLogs:
        for scope in resource.scopeLogs:
            yield from ((False, record) for record in scope.logRecords)


def _request(record: _Record, is_span: bool, source: Source, number: int) -> Request | None:
    found = {attribute.key: _value(attribute.value) for attribute in record.attributes}
    if not is_span:
        names = {record.eventName, found.get("event.name"), _value(record.body)}
        return _event(record, found, source, number) if names & {"claude_code.api_request", "api_request"} else None
    if found.get("gen_ai.operation.name", "") not in CALLS or not any(name in found for name in (*INPUT, *OUTPUT)):
        return None
    model = _text(found, *MODEL) or ""
    start = _nanoseconds(record.startTimeUnixNano)
    first = found.get("gen_ai.response.time_to_first_chunk")
    lane = _text(found, "gen_ai.conversation.id", "session.id") or record.traceId or MAIN
    agent = _text(found, "gen_ai.agent.id")
    told = isinstance(first, int | float) and not isinstance(first, bool) and 0 <= first < 10**6
    return Request(
        id=_text(found, "gen_ai.response.id") or record.spanId or f"#{number + 1}",
        lane=f"{lane}/{agent}" if agent else lane,
        model=model,
        provider=provider_name(_text(found, "gen_ai.provider.name", "gen_ai.system"), provider_of_model(model)),
        start=start,
        first_token=start + round(float(first) * 10**9) if told and start is not None and first is not None else None,
        end=_nanoseconds(record.endTimeUnixNano),
        usage=_usage(found),
        source=source,
    )


def _usage(found: Attributes) -> Usage:
    sent, read = _count(found, *INPUT), _count(found, *READ)
    write, output = _count(found, *WRITE), _count(found, *OUTPUT)
    if sent is not None and sent < (read or 0) + (write or 0):
        return input_excludes_cached(sent, read, write, output)
    return input_includes_cached(sent, read, write, output)


def _event(record: _Record, found: Attributes, source: Source, number: int) -> Request:
    end = _nanoseconds(record.timeUnixNano)
    took = _count(found, "duration_ms")
    model = _text(found, "model") or ""
    agent = _text(found, "query_source") or "repl_main_thread"
    session = _text(found, "session.id") or MAIN
    lane = session if agent in ("repl_main_thread", "compact") else f"{session}/{agent}"
    return Request(
        id=_text(found, "request_id", "client_request_id") or f"#{number + 1}",
        lane=lane,
        model=model,
        purpose="summary" if agent == "compact" else "main",
        start=None if end is None or took is None else end - took * _MILLISECOND,
        end=end,
        usage=input_excludes_cached(
            _count(found, "input_tokens"),
            _count(found, "cache_read_tokens"),
            _count(found, "cache_creation_tokens"),
            _count(found, "output_tokens"),
        ),
        speed=_text(found, "speed"),
        source=source,
    )


def _value(value: dict[str, msgspec.Raw]) -> str | int | float | bool | None:
    for kind in ("stringValue", "intValue", "doubleValue", "boolValue"):
        raw = value.get(kind)
        if raw is not None:
            try:
                plain = _values.decode(raw)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            # Integers of 64 bits stand as text in OTLP JSON.
            whole = kind == "intValue" and isinstance(plain, str) and plain.isascii() and plain.isdecimal()
            return int(plain[:20]) if whole and isinstance(plain, str) else plain
    return None


def _text(found: Attributes, *names: str) -> str | None:
    return next((value for name in names if isinstance(value := found.get(name), str) and value), None)


def _count(found: Attributes, *names: str) -> int | None:
    name = next((name for name in names if found.get(name) is not None), None)
    if name is None:
        return None
    value = found[name]
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:20])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return counter(value, name)


def _nanoseconds(stamp: str | int | None) -> int | None:
    if isinstance(stamp, str):
        stamp = int(stamp) if stamp.isascii() and stamp.isdecimal() and len(stamp) <= 20 else None
    return stamp if stamp is not None and 0 < stamp < 10**20 else None
