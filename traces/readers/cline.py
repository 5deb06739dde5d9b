"""Sessions of Cline, Roo Code and Kilo: the messages of the newer SDK, and the panel's messages of the extensions.

Usage convention of the SDK's ``<session>.messages.json``: ``inputTokens`` includes what was read from and written to a
cache. That of ``ui_messages.json``: older versions leave the cached part out for Anthropic, newer ones never do. Which
one a file follows is decided over all of it, and told: where some call read and wrote more than its input holds, the
input excludes it; otherwise it includes it. In either case what is left is checked not to be negative.

Times: the SDK's is when an answer was complete, so that its start is that of the message before; the panel's is when a
call began. An entry of the panel without counters is a call that did not end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_excludes_cached, input_includes_cached, is_empty, reports_writes
from agentsim.bodies.messages_usage import ABSENT
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_name
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.hostile_records import Tally
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, stem

NAME = "cline"
DESCRIPTION = "Cline SDK sessions (*.messages.json); ui_messages.json of Cline, Roo Code and Kilo (from descriptions)"
VERIFIED = True

MILLISECOND = 10**6


class _Metrics(msgspec.Struct, gc=False):
    inputTokens: Count | None = None
    outputTokens: Count | None = None
    cacheReadTokens: Count | None = None
    cacheWriteTokens: Count | None = None
    cost: msgspec.Raw = ABSENT


class _Model(msgspec.Struct, gc=False):
    id: str | None = None
    provider: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    role: str | None = None
    ts: int | float | None = None
    metrics: _Metrics | None = None
    modelInfo: _Model | None = None


class _Document(msgspec.Struct, gc=False):
    sessionId: str | None = None
    messages: list[msgspec.Raw] = msgspec.field(default_factory=list)


class _PanelEntry(msgspec.Struct, gc=False):
    """An entry of the panel."""

    ts: int | float | None = None
    say: str | None = None
    text: str | None = None
    modelInfo: msgspec.Raw = ABSENT


class _PanelModel(msgspec.Struct, gc=False):
    modelId: str | None = None
    providerId: str | None = None


class _Call(msgspec.Struct, gc=False):
    """What ``text`` holds for ``api_req_started``."""

    tokensIn: Count | None = None
    tokensOut: Count | None = None
    cacheReads: Count | None = None
    cacheWrites: Count | None = None
    cancelReason: str | None = None
    cost: msgspec.Raw = ABSENT
    apiProtocol: str | None = None


_documents = msgspec.json.Decoder(_Document)
_messages = msgspec.json.Decoder(_Message)
_panels: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])
_said = msgspec.json.Decoder(_PanelEntry)
_calls = msgspec.json.Decoder(_Call)
_panel_models = msgspec.json.Decoder(_PanelModel)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a session of the SDK, or like the messages of the panel."""
    start = head.lstrip()
    if start.startswith(b"["):
        return b'"ts"' in head and b'"say"' in head and b'"type"' in head
    return start.startswith(b"{") and b'"messages"' in head and b'"sessionId"' in head and b'"ts"' in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told in ``problems``; without that list OSError is raised
    for it."""
    yield from read_each(paths, problems, _session, "call with its counters")


def _session(path: str) -> Session:
    with open(path, "rb") as file:
        is_panel = file.read(4096).lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"[")
    return _panel(path) if is_panel else _sdk(path)


def _sdk(path: str) -> Session:
    tally = Tally(path)
    document = read_document(path, _documents)
    assembly = Assembly(document.sessionId or stem(path), NAME, tally)
    assembly.files.append(path)
    assembly.harness = "cline"
    before: int | None = None
    for number, raw in enumerate(document.messages, 1):
        try:
            message = decode(_messages, raw)
            if message.role == "assistant" and message.metrics is None:
                raise BadRow("no usage", "an answer without metrics")
            model = message.modelInfo or _Model()
            provider = provider_name(model.provider, "unknown")
            usage = _sdk_usage(message.metrics or _Metrics(), provider, model.id or "")
        except BadRow as bad:
            tally.rows += 1
            tally.skip(number, bad)
            continue
        time = _time(message.ts)
        if message.role == "user" and "_tool_" not in (message.id or ""):
            assembly.note("prompt_submitted", time)
        if message.role == "assistant":
            tally.rows += 1
            if is_empty(usage):
                tally.not_billable += 1
                assembly.note("interrupted", time)
            else:
                assembly.add(
                    Request(
                        id=message.id or f"{assembly.id}#{number}",
                        lane=MAIN,
                        model=model.id or "",
                        provider=provider,
                        start=before,
                        end=time,
                        usage=usage,
                        logged_cost=logged_picodollars((message.metrics or _Metrics()).cost),
                        source=Source(path, number),
                    )
                )
        before = time
    return assembly.build("messages")


def _sdk_usage(sent: _Metrics, provider: str, model: str) -> Usage:
    write = _write(sent.cacheWriteTokens, provider, model)
    return input_includes_cached(sent.inputTokens, sent.cacheReadTokens, write, sent.outputTokens)


def _panel(path: str) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    assembly.harness = "cline"
    found: list[tuple[int, _PanelEntry, _Call | None]] = []
    entries = read_document(path, _panels)
    for number, raw in enumerate(entries, 1):
        try:
            said = decode(_said, raw)
            call = decode(_calls, (said.text or "").encode()) if said.say == "api_req_started" else None
        except (BadRow, UnicodeEncodeError) as bad:
            tally.rows += 1
            tally.skip(number, bad if isinstance(bad, BadRow) else BadRow("not UTF-8"))
            continue
        found.append((number, said, call))
    excludes = any(
        (call.cacheReads or 0) + (call.cacheWrites or 0) > (call.tokensIn or 0) for _, _, call in found if call
    )
    for number, said, call in found:
        time = _time(said.ts)
        if said.say == "user_feedback" or (said.say in ("task", "text") and not assembly.requests):
            assembly.note("prompt_submitted", time)
        elif said.say in ("condense_context", "sliding_window_truncation"):
            assembly.note("compaction", time)
        elif said.say == "api_req_retried":
            assembly.note("api_error", time)
        if call is None:
            continue
        tally.rows += 1
        model = _panel_model(said)
        provider = provider_name(model.providerId or call.apiProtocol, "unknown")
        write = _write(call.cacheWrites, provider, model.modelId or "")
        count = input_excludes_cached if excludes else input_includes_cached
        try:
            usage = count(call.tokensIn, call.cacheReads, write, call.tokensOut)
        except BadRow as bad:
            tally.skip(number, bad)
            continue
        if is_empty(usage):
            tally.not_billable += 1
            assembly.note("interrupted" if call.cancelReason != "streaming_failed" else "api_error", time)
            continue
        assembly.add(
            Request(
                id=f"{assembly.id}#{number}",
                lane=MAIN,
                model=model.modelId or "",
                provider=provider,
                start=time,
                usage=usage,
                logged_cost=logged_picodollars(call.cost),
                source=Source(path, number),
            )
        )
    return assembly.build("messages")


def _panel_model(said: _PanelEntry) -> _PanelModel:
    try:
        return decode(_panel_models, said.modelInfo) if said.modelInfo else _PanelModel()
    except BadRow:
        return _PanelModel()


def _write(count: int | None, provider: str, model: str) -> int | None:
    """The writes that a call reports. A gateway that has no such counter fills in 0, even for Claude."""
    return count or (0 if count == 0 and provider == "anthropic" and reports_writes(provider, model) else None)


def _time(milliseconds: int | float | None) -> int | None:
    if milliseconds is None or not 0 < milliseconds < 10**14:
        return None
    return int(milliseconds) * MILLISECOND
