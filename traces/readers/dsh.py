"""Canonical traces of the DeepSeek harness (dsh): every step with its chunks, and a header when system or tools change.

Usage convention: ``inputTokens`` and ``cacheReadTokens`` are disjoint, ``outputTokens`` includes reasoning. A usage
stands in a chunk of the step and again in the message that the chunks add up to; it is counted once. Writes are
reported by providers that have them. The first chunk's time is that of the first token. A child session starts with a
copy of its parent's rows (``seedLength`` of them): they are context and not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_excludes_cached, is_empty
from agentsim.bodies.messages_usage import ABSENT
from agentsim.bodies.serving_provider import provider_name
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import Count, decode
from agentsim.traces.session_assembly import MAIN, Assembly, effort_setting, read_each, take_events

NAME = "dsh"
DESCRIPTION = "DeepSeek harness (dsh) session.jsonl; unpack compressed ones first"
VERIFIED = True

MILLISECOND = 10**6


class _Row(msgspec.Struct, gc=False):
    type: str | None = None
    seq: int | None = None
    time: int | None = None
    time0: int | None = None
    id: str | None = None
    seedLength: int | None = None
    parentId: msgspec.Raw = ABSENT
    data: msgspec.Raw = ABSENT


class _Config(msgspec.Struct, gc=False):
    provider: str | None = None
    model: str | None = None
    reasoningEffort: str | None = None


class _HeaderBody(msgspec.Struct, gc=False):
    config: _Config | None = None
    system: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT


class _Header(msgspec.Struct, gc=False):
    header: _HeaderBody


class _Counters(msgspec.Struct, gc=False):
    inputTokens: Count | None = None
    outputTokens: Count | None = None
    cacheReadTokens: Count | None = None
    cacheWriteTokens: Count | None = None


class _ChunkBody(msgspec.Struct, gc=False):
    type: str | None = None
    usage: _Counters | None = None


class _Chunk(msgspec.Struct, gc=False):
    chunk: _ChunkBody | None = None


class _Message(msgspec.Struct, gc=False):
    usage: _Counters | None = None


_rows = msgspec.json.Decoder(_Row)
_headers = msgspec.json.Decoder(_Header)
_chunks = msgspec.json.Decoder(_Chunk)
_messages = msgspec.json.Decoder(_Message)

_FIRST = frozenset({"assistant/chunk", "reasoning-chunks", "text-chunks", "tool-call-chunks"})


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a trace of the harness."""
    first = head.lstrip().split(b"\n", 1)[0]
    if b'"session"' in first and b'"createdAt"' in first:
        return True
    return b'"request/header"' in head or (b'"step/start"' in head and b'"seq"' in head)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told in ``problems``; without that list OSError is raised
    for it."""
    yield from read_each(paths, problems, lambda path: _Trace(path).session(), "step with its usage")


class _Trace:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.assembly = Assembly.of_file(path, NAME)
        self.tally = self.assembly.tally
        self.assembly.harness = "dsh"
        self.config = _Config()
        self.system = self.tools = b""
        self.seed = 0
        self.begun: int | None = None
        self.first: int | None = None
        self.counted = False  # this step's usage was seen

    def session(self) -> Session:
        """The session of the file."""
        take_events(self.path, _rows, self.tally, self._take)
        return self.assembly.build("messages")

    def _take(self, line: int, row: _Row) -> None:
        kind, time = row.type, _time(row.time)
        if kind in _FIRST and self.first is None:
            self.first = _time(row.time0) if row.time is None else time
        if kind == "assistant/chunk":
            chunk = decode(_chunks, row.data).chunk
            if chunk is not None and chunk.type == "usage" and chunk.usage is not None:
                self._step(line, row, chunk.usage, time)
        elif kind == "assistant/message":
            usage = decode(_messages, row.data).usage
            if usage is not None and not self.counted:
                self._step(line, row, usage, time)
        elif kind == "step/start":
            self.begun, self.first, self.counted = time, None, False
        elif kind == "request/header":
            self._header(decode(_headers, row.data).header, time)
        elif kind == "turn/start":
            self.assembly.note("prompt_submitted", time)
        elif kind == "session":
            self.assembly.id = row.id or self.assembly.id
            self.seed = row.seedLength or 0
            self.assembly.lane(MAIN, purpose="subagent" if bytes(row.parentId) not in (b"", b"null") else "main")

    def _header(self, header: _HeaderBody, time: int | None) -> None:
        """A new header is written only when something in it changed."""
        system, tools = bytes(header.system), bytes(header.tools)
        if self.tools and tools != self.tools:
            self.assembly.note("tools_delta", time)
        if self.system and system != self.system:
            self.assembly.note("instructions_delta", time)
        self.system, self.tools = system, tools
        self.config = header.config or self.config

    def _step(self, line: int, row: _Row, sent: _Counters, time: int | None) -> None:
        self.tally.rows += 1
        self.counted = True
        usage = _usage(sent)
        if is_empty(usage):
            self.tally.not_billable += 1
            return
        copied = row.seq is not None and row.seq < self.seed
        self.assembly.add(
            Request(
                id=f"{self.assembly.id}#{line}",
                lane=MAIN,
                model=self.config.model or "",
                provider=provider_name(self.config.provider, "unknown"),
                start=self.begun,
                first_token=self.first,
                end=time,
                settings=effort_setting(self.config.reasoningEffort),
                usage=usage,
                counted=not copied,
                source=Source(self.path, line),
            )
        )
        self.begun = self.first = None


def _usage(sent: _Counters) -> Usage:
    return input_excludes_cached(sent.inputTokens, sent.cacheReadTokens, sent.cacheWriteTokens, sent.outputTokens)


def _time(milliseconds: int | None) -> int | None:
    return milliseconds * MILLISECOND if milliseconds is not None and 0 < milliseconds < 10**14 else None
