"""Helicone's export of requests: counters, and the bodies as the gateway passed them on.

Usage convention: that of the provider whose ``usage`` stands in the response's body: Anthropic's excludes cached
tokens, OpenAI's includes them. Without a body ``prompt_tokens`` is read as other counters of the row prove; a row with
cached tokens that proves nothing is left out. ``cache_enabled`` is the gateway's own cache of whole responses: a hit
there reached no provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.answering_hosts import host_named
from agentsim.bodies.input_conventions import convention_told, usage_by
from agentsim.bodies.messages_usage import ABSENT, SentUsage, usage_of
from agentsim.bodies.openai_usage import OpenAIUsage, openai_usage
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.body_prompts import BodyPrompts
from agentsim.traces.export_rows import export_rows
from agentsim.traces.hostile_records import Tally, calls_in
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "helicone"
DESCRIPTION = "Helicone requests, exported (from descriptions)"
VERIFIED = False


class _Row(msgspec.Struct, gc=False):
    request_id: str | None = None
    request_created_at: str | None = None
    response_created_at: str | None = None
    response_status: int | None = None
    delay_ms: float | None = None
    time_to_first_token: float | None = None
    provider: str | None = None
    model: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_cache_read_tokens: Count | None = None
    prompt_cache_write_tokens: Count | None = None
    cache_hit: bool | None = msgspec.field(default=None, name="cache-hit")
    cache_reference_id: str | None = None
    request_body: msgspec.Raw = ABSENT
    response_body: msgspec.Raw = ABSENT
    properties: dict[str, msgspec.Raw] | None = None
    request_properties: dict[str, msgspec.Raw] | None = None


class _Body(msgspec.Struct, gc=False):
    usage: msgspec.Raw = ABSENT
    provider: msgspec.Raw = ABSENT
    model: str | None = None


_rows = msgspec.json.Decoder(_Row)
_bodies = msgspec.json.Decoder(_Body)
_openai = msgspec.json.Decoder(OpenAIUsage)
_anthropic = msgspec.json.Decoder(SentUsage)
_text = msgspec.json.Decoder(str)

NO_REFERENCE = ("", "00000000-0000-0000-0000-000000000000")
LONGEST = 10**9


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like exported requests."""
    return head.lstrip()[:1] in (b"{", b"[") and b'"request_created_at"' in head and b'"request_id"' in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; each ``Session-Id`` in it is a lane. What is wrong with a file is told in ``problems``;
    without that list OSError is raised for it."""
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "request with its counters")


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    calls = calls_in(
        export_rows(path, _rows),
        tally,
        lambda row, line: (_request(row, Source(path, line)), _body(row.request_body)),
        billed=_is_billed,
        seen=seen,
        id_of=lambda row: row.request_id,
    )
    prompts = BodyPrompts()
    for request, body in sorted(calls, key=lambda call: call[0].start or 0):
        assembly.add(_with_prompt(request, body, prompts, tally))
    whole = all(request.prompt is not None for request in assembly.requests)
    return assembly.build("full" if whole else "usage")


def _is_billed(row: _Row) -> bool:
    cached = bool(row.cache_hit) or (row.cache_reference_id or "") not in NO_REFERENCE
    return not cached and (row.response_status or 0) < 400


def _with_prompt(request: Request, body: bytes, prompts: BodyPrompts, tally: Tally) -> Request:
    if not body or request.usage is None or request.source is None:
        return request
    try:
        prompt, settings = prompts.read(
            body,
            request.lane,
            messages_api=request.provider == "anthropic",
            total=request.usage.total_input,
        )
    except BadRow as bad:
        tally.tell(request.source.line, BadRow("prompt unknown", str(bad)), note=True)
        return request
    return msgspec.structs.replace(request, prompt=prompt, settings=settings)


def _request(row: _Row, source: Source) -> Request:
    model = row.response_model or row.model or row.request_model or ""
    start, end = nanoseconds(row.request_created_at), nanoseconds(row.response_created_at)
    took, first = _span(row.delay_ms), _span(row.time_to_first_token)
    properties = row.properties or row.request_properties or {}
    provider = provider_of(declared=row.provider, model=model)
    answer = _answer(row.response_body)
    return Request(
        id=row.request_id or f"#{source.line}",
        lane=_string(properties.get("Session-Id") or properties.get("Helicone-Session-Id")) or MAIN,
        model=model.rpartition("/")[2],
        provider=provider,
        start=start,
        first_token=None if start is None or not first else start + first,
        end=end if end is not None or start is None or took is None else start + took,
        usage=_usage(row, answer),
        host=host_named(answer.provider),
        source=source,
    )


def _usage(row: _Row, answer: _Body) -> Usage:
    counters = bytes(answer.usage)
    if counters[:1] == b"{":
        if b'"cache_read_input_tokens"' in counters or b'"cache_creation_input_tokens"' in counters:
            return usage_of(decode(_anthropic, counters))
        if b"_tokens_details" in counters:
            return openai_usage(decode(_openai, counters))
    read, write = row.prompt_cache_read_tokens, row.prompt_cache_write_tokens
    sent, output = row.prompt_tokens, row.completion_tokens
    if sent is None and output is None:
        raise BadRow("no usage", "prompt_tokens")
    told = convention_told(sent, read, write, output, row.total_tokens)
    if told is None:
        if (read or 0) + (write or 0):
            raise BadRow("unclear convention", "prompt_tokens")
        told = "includes"  # nothing was cached: both say the same
    return usage_by(told, sent, read, write, output)


def _answer(raw: msgspec.Raw) -> _Body:
    """What a response's body tells; nothing where there is none, or where the body is a stream."""
    try:
        return decode(_bodies, _body(raw)) if raw else _Body()
    except BadRow:
        return _Body()


def _body(raw: msgspec.Raw) -> bytes:
    """A body as it was sent; some exports hold it as text."""
    data = bytes(raw)
    if data[:1] == b'"':
        return (_string(raw) or "").encode("utf-8", "surrogatepass")
    return data if data[:1] == b"{" else b""


def _string(raw: msgspec.Raw | None) -> str | None:
    if raw is None or bytes(raw)[:1] != b'"':
        return None
    try:
        return decode(_text, raw)
    except BadRow:
        return None


def _span(milliseconds: float | None) -> int | None:
    return round(milliseconds * 10**6) if milliseconds is not None and 0 <= milliseconds < LONGEST else None
