"""One rollout file: its calls in order, with their times and what happened before each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached, is_empty
from agentsim.bodies.serving_provider import provider_name
from agentsim.core.session import EventKind, Usage
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.growing_file import GrowingLogs
from agentsim.traces.hostile_records import RawRow, Tally, rows_in, rows_of
from agentsim.traces.log_lines import LineChunk, chunks_of
from agentsim.traces.readers.codex.codex_lines import (
    CodexLine,
    Counters,
    Payload,
    Spawn,
    SubagentSource,
    ThreadSource,
    compacted_lines,
    infos,
    lines,
    meta_lines,
    record_lines,
    turn_lines,
)
from agentsim.traces.time_stamps import nanoseconds
from agentsim.traces.told_names import WorkingState, listed_names, told_name, told_text

REPLY_ITEMS = frozenset(
    {"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"}
)
"""Items that a model's reply is made of, besides messages of the assistant."""


CALL_ITEMS = REPLY_ITEMS - {"reasoning"}
"""Those that the next call has to wait for."""


class CodexCall(msgspec.Struct, kw_only=True):
    """A call as the log tells it. ``chain`` stands for its counters and those of all calls before it in the file: two
    calls with one chain are one call, copied. ``summarises``: it made the summary of a compaction."""

    line: int
    counters: Counters
    chain: bytes
    start: int | None
    end: int | None
    model: str
    effort: str | None
    version: str | None
    provider: str
    response_id: str | None
    events: tuple[tuple[EventKind, int | None, str | None], ...]
    inherited: bool = False
    summarises: bool = False


class Rollout(msgspec.Struct, kw_only=True):
    """What one file says. ``parents`` are the threads it names as its origin, ``spawn`` how it was started if it is a
    subagent, ``history`` the lines at its beginning that it declares to be its parent's."""

    path: str
    id: str
    tally: Tally
    created: int | None = None
    parents: tuple[str, ...] = ()
    spawn: Spawn | None = None
    history: int = 0
    originator: str | None = None
    calls: list[CodexCall] = msgspec.field(default_factory=list)


def read_rollout(path: str) -> Rollout:
    """The calls of a file. Raises OSError when it cannot be read."""
    scan = _Scan(path)
    scan.read(rows_of(path, lines))
    return scan.rollout


class GrowingRollouts:
    """Rollouts that are being written."""

    def __init__(self) -> None:
        self._logs = GrowingLogs(_Scan, lambda scan, chunks, before: scan.read(_rows(chunks, before)))

    def rollout(self, path: str) -> Rollout:
        """As :func:`read_rollout`."""
        file, scan = self._logs.log(path)
        rest = list(_rows(file.last_line(), file.lines))
        if not file.can_grow or any(row.bad is None for row in rest):
            # A whole row that only lacks its newline cannot be taken back.
            return read_rollout(path)
        tally = scan.tally.copy()
        for row in rest:
            assert row.bad is not None
            tally.rows += 1
            tally.skip(row.line, row.bad)
        return msgspec.structs.replace(scan.rollout, tally=tally)


def _rows(chunks: Iterable[LineChunk], before: int) -> Iterator[RawRow[CodexLine]]:
    return rows_in(chunks_of(chunks, before + 1), lines)


CODEX = "codex"
"""Codex's own back end, which its provider ``openai`` means: it keeps other rules than OpenAI's API does. A log of
somebody with a key of that API looks the same."""


class _Scan:
    """Reads the lines of a file one after the other."""

    def __init__(self, path: str) -> None:
        self.tally = Tally(path)
        self.rollout = Rollout(path=path, id="", tally=self.tally)
        self.chain = b""
        self.total: Counters | None = None
        self.model, self.provider = "", CODEX
        self.effort: str | None = None
        self.version: str | None = None
        self.events: list[tuple[EventKind, int | None, str | None]] = []
        self.state = WorkingState()
        self.tools: list[str] = []
        self.input: str | None = None  # when the last thing that a model reads was logged
        self.open = False  # a reply is being logged
        self.began: str | None = None
        self.ended: str | None = None
        self.responses: set[str] = set()
        self.unmatched: str = ""  # what told the last call, until the other kind of line tells it again

    def read(self, rows: Iterable[RawRow[CodexLine]]) -> None:
        """Look at the next lines."""
        for row in rows:
            try:
                self.take(row.line, row.data, row.checked())
            except BadRow as bad:
                self.tally.rows += 1
                self.tally.skip(row.line, bad)

    def take(self, number: int, data: bytes, line: CodexLine) -> None:
        """Look at one line. Raises BadRow when it cannot be understood and may have mattered."""
        kind, payload = line.type, line.payload
        if payload is None:
            return
        if kind == "response_item":
            self._item(line, payload)
        elif kind == "event_msg":
            self._event(number, line, payload)
        elif kind == "token_usage_record":
            self._record(number, line, data)
        elif kind == "turn_context":
            context = decode(turn_lines, data).payload
            settings = context.collaboration_mode.settings if context.collaboration_mode is not None else None
            self.model = context.model or self.model
            mode = (
                context.collaboration_mode.mode if context.collaboration_mode is not None else context.approval_policy
            )
            for change, detail in self.state.change_to(told_text(mode), told_text(context.cwd)):
                self.events.append((change, nanoseconds(line.timestamp), detail))
            self.effort = (settings.reasoning_effort if settings is not None else None) or context.effort
        elif kind == "session_meta":
            self._meta(line, data)
        elif kind == "compacted":
            self._note("compaction", line)
            summary = decode(compacted_lines, data).payload.compaction_response_id
            if summary is not None and self.rollout.calls and self.rollout.calls[-1].response_id == summary:
                self.rollout.calls[-1].summarises = True

    def _meta(self, line: CodexLine, data: bytes) -> None:
        meta = decode(meta_lines, data).payload
        rollout = self.rollout
        if not rollout.id:
            rollout.id = meta.id or ""
            rollout.created = nanoseconds(meta.timestamp or line.timestamp)
            rollout.originator = meta.originator
            rollout.history = meta.subagent_history_start_ordinal or 0
            if isinstance(meta.source, ThreadSource):
                source = meta.source.subagent
                spawn = source.thread_spawn if isinstance(source, SubagentSource) else None
                rollout.spawn = spawn or (Spawn() if source is not None else None)
            named = (meta.forked_from_id, meta.parent_thread_id, rollout.spawn and rollout.spawn.parent_thread_id)
            rollout.parents = tuple(dict.fromkeys(name for name in named if name))
        elif meta.id == rollout.id:
            self._note("resume", line)
        self.version = meta.cli_version or self.version
        provider = provider_name(meta.model_provider, self.provider)
        self.provider = CODEX if provider == "openai" else provider

    def _item(self, line: CodexLine, item: Payload) -> None:
        if item.type in REPLY_ITEMS or item.role == "assistant":
            if not self.open:
                self.open, self.began = True, self.input
            self.ended = line.timestamp
            if item.type in CALL_ITEMS:
                self.tools.append(told_name(item.name) or (item.type or "").removesuffix("_call"))
        else:
            self.input = line.timestamp

    def _event(self, number: int, line: CodexLine, event: Payload) -> None:
        kind = event.type
        if kind == "token_count":
            self._count(number, line, event.info)
        elif kind == "user_message":
            self.input = line.timestamp
            self._note("prompt_submitted", line)
        elif kind == "task_started":
            self.open = False
        elif kind == "turn_aborted":
            self.open = False
            self._note("interrupted", line)
        elif kind == "context_compacted" and not any(event[0] == "compaction" for event in self.events):
            self._note("compaction", line)

    def _note(self, kind: EventKind, line: CodexLine) -> None:
        if kind != "prompt_submitted" or all(event[0] != kind for event in self.events):
            self.events.append((kind, nanoseconds(line.timestamp), None))

    def _count(self, number: int, line: CodexLine, raw: msgspec.Raw) -> None:
        info = decode(infos, raw) if raw else None
        if info is None or (info.last_token_usage is None and info.total_token_usage is None):
            self._not_billable()
            return
        total, before = info.total_token_usage, self.total
        counters = info.last_token_usage
        if total is not None:
            self.total = total
            if total == before:
                self._duplicate()
                return
            if counters is None:
                counters = (total.minus(before) if before is not None else None) or total
        assert counters is not None
        if self.unmatched == "record" and counters == self.rollout.calls[-1].counters:
            self.unmatched = ""
            self._duplicate()
        elif self._call(number, line, counters, total, None):
            self.unmatched = "count"

    def _record(self, number: int, line: CodexLine, data: bytes) -> None:
        record = decode(record_lines, data).payload
        response = record.response_id
        if record.usage is None:
            raise BadRow("no usage", "a token_usage_record without usage")
        if response is not None and response in self.responses:
            self._duplicate()
            return
        if response is not None:
            self.responses.add(response)
        if self.unmatched == "count" and not self.open and record.usage == self.rollout.calls[-1].counters:
            self.unmatched = ""
            self.rollout.calls[-1].response_id = response
            self._duplicate()
        elif self._call(number, line, record.usage, None, response):
            self.unmatched = "record"

    def _duplicate(self) -> None:
        self.tally.rows += 1
        self.tally.duplicate += 1

    def _not_billable(self) -> None:
        self.tally.rows += 1
        self.tally.not_billable += 1

    def _call(self, number: int, line: CodexLine, last: Counters, total: Counters | None, response: str | None) -> bool:
        """Keep a call; False for one in which nothing was counted."""
        if is_empty(usage_of(last)):
            self._not_billable()
            return False
        self.tally.rows += 1
        said = repr((msgspec.structs.astuple(last), total and msgspec.structs.astuple(total), response))
        self.chain = blake2b(said.encode("utf-8", "surrogatepass"), key=self.chain, digest_size=16).digest()
        self.rollout.calls.append(
            CodexCall(
                line=number,
                counters=last,
                chain=self.chain,
                start=nanoseconds(self.began if self.open else self.input),
                end=nanoseconds(self.ended if self.open else line.timestamp),
                model=self.model,
                effort=self.effort,
                version=self.version,
                provider=self.provider,
                response_id=response,
                events=tuple(self.events),
                inherited=number <= self.rollout.history,
            )
        )
        self.events = [("tool_results", None, listed_names(self.tools))] if self.tools else []
        self.tools = []
        self.open = False
        return True


def usage_of(counters: Counters) -> Usage:
    """The usage of a call. Raises BadRow when more was cached than sent."""
    return input_includes_cached(
        counters.input_tokens,
        counters.cached_input_tokens,
        counters.cache_write_input_tokens,
        counters.output_tokens,
    )
