"""OpenTelemetry in OTLP JSON: events of Claude Code, and spans by the conventions for generative models.

Usage convention of Claude Code's ``claude_code.api_request``: the parts are disjoint; the lifetime of writes is not
told. The event is written at the end of a call, which began ``duration_ms`` before.
Usage convention of ``gen_ai`` spans, told span by span: by the conventions, input includes what was read from and
written to a cache, but emitters differ. A span whose counters prove one way (less input than was cached, or a total) is
read that way; other spans of the same emitter follow it. Of an emitter that proves nothing, spans with the names that
the conventions give to cached tokens are read as the conventions say; other ones too, but this is told, for they may
count otherwise. The newest name of an attribute wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.answering_hosts import host_of_address
from agentsim.bodies.input_conventions import Convention, Conventions, convention_told, input_excludes_cached, usage_by
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, counter
from agentsim.traces.export_rows import add_in_order
from agentsim.traces.hostile_records import Tally, rows_of
from agentsim.traces.session_assembly import MAIN, Assembly, read_each

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
TOTAL = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total")
STANDARD = frozenset((*READ[:1], *WRITE[:2]))
"""Names of cached tokens that come with the rule that input includes them."""
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


class _Emitter(msgspec.Struct, gc=False):
    name: str = ""
    version: str = ""


class _Scope(msgspec.Struct, gc=False):
    scope: _Emitter | None = None
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
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    calls: list[tuple[Request, _Counters | None]] = []
    conventions = Conventions()
    for raw in rows_of(path, _exports):
        try:
            export = raw.checked()
        except BadRow as bad:
            tally.rows += 1
            tally.skip(raw.line, bad)
            continue
        for emitter, record in _records(export):
            tally.rows += 1
            try:
                found = _call(record, emitter, Source(path, raw.line), len(calls))
            except BadRow as bad:
                tally.skip(raw.line, bad)
                continue
            if found is None:
                tally.not_billable += 1
            elif found[0].id in seen:
                tally.duplicate += 1
            else:
                seen.add(found[0].id)
                calls.append(found)
                if found[1] is not None:
                    conventions.learn(found[1].emitter, found[1].told)
    add_in_order(assembly, list(_counted(calls, conventions, tally)))
    return assembly.build("usage")


def _counted(
    calls: Sequence[tuple[Request, _Counters | None]], conventions: Conventions, tally: Tally
) -> Iterator[Request]:
    """The requests with their usage, once all spans were asked for the convention of their emitter."""
    unsure: list[int] = []
    for request, counters in calls:
        line = request.source.line if request.source is not None else 0
        try:
            if counters is None:
                yield request
                continue
            convention = counters.told or conventions.of(counters.emitter)
            if convention is None and counters.cached and not counters.standard:
                unsure.append(line)
            yield msgspec.structs.replace(request, usage=counters.usage(convention or "includes"))
        except BadRow as bad:
            tally.skip(line, bad)
    if unsure:
        spans = "1 span does" if len(unsure) == 1 else f"{len(unsure):,} spans do"
        reason = f"{spans} not tell whether input includes cached tokens (the first in line {unsure[0]})"
        remedy = "read as the conventions say, that it does; compare with a total of the provider's"
        tally.problems.append(Problem(file=tally.file, line=0, reason=reason, remedy=remedy, note=True))


def _records(export: _Export) -> Iterator[tuple[str | None, _Record]]:
    """Spans with the name of their emitter, and records of logs without one."""
    for resource in export.resourceSpans:
        for scope in resource.scopeSpans:
            emitter = scope.scope or _Emitter()
            yield from ((f"{emitter.name} {emitter.version}", record) for record in scope.spans)
    for resource in export.resourceLogs:
        for scope in resource.scopeLogs:
            yield from ((None, record) for record in scope.logRecords)


def _call(record: _Record, emitter: str | None, source: Source, number: int) -> tuple[Request, _Counters | None] | None:
    found = {attribute.key: _value(attribute.value) for attribute in record.attributes}
    if emitter is None:
        names = {record.eventName, found.get("event.name"), _value(record.body)}
        called = names & {"claude_code.api_request", "api_request"}
        return (_event(record, found, source, number), None) if called else None
    if found.get("gen_ai.operation.name", "") not in CALLS or not any(name in found for name in (*INPUT, *OUTPUT)):
        return None
    model = _text(found, *MODEL) or ""
    start = _nanoseconds(record.startTimeUnixNano)
    first = found.get("gen_ai.response.time_to_first_chunk")
    lane = _text(found, "gen_ai.conversation.id", "session.id") or record.traceId or MAIN
    agent = _text(found, "gen_ai.agent.id")
    told = isinstance(first, int | float) and not isinstance(first, bool) and 0 <= first < 10**6
    declared, address = _text(found, "gen_ai.provider.name", "gen_ai.system"), _text(found, "server.address")
    provider = provider_of(declared=declared, address=address, model=model)
    request = Request(
        id=_text(found, "gen_ai.response.id") or record.spanId or f"#{number + 1}",
        lane=f"{lane}/{agent}" if agent else lane,
        model=model,
        provider=provider,
        start=start,
        first_token=start + round(float(first) * 10**9) if told and start is not None and first is not None else None,
        end=_nanoseconds(record.endTimeUnixNano),
        host=host_of_address(found.get("server.address")),
        source=source,
    )
    return request, _Counters(found, f"{emitter} {provider}")


class _Counters:
    """The counters of a span, as they stand. Raises BadRow for counts that cannot be meant."""

    def __init__(self, found: Attributes, emitter: str) -> None:
        self.emitter = emitter
        self.sent, self.output = _count(found, *INPUT), _count(found, *OUTPUT)
        self.read, self.write = _count(found, *READ), _count(found, *WRITE)
        self.cached = (self.read or 0) + (self.write or 0)
        self.standard = not STANDARD.isdisjoint(found)
        self.told = convention_told(self.sent, self.read, self.write, self.output, _count(found, *TOTAL))

    def usage(self, convention: Convention) -> Usage:
        """Usage under a convention. Raises BadRow when they contradict."""
        return usage_by(convention, self.sent, self.read, self.write, self.output)


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
