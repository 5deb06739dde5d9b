"""Session logs of the Pi coding agent and its relatives, versions 1 to 3.

Usage convention: ``input`` excludes cached tokens, for every provider (checked against ``totalTokens`` where it is
there). Lifetimes of writes are not told. A message's time is when its request began, its line's time when it ended.

From version 2 on the entries form a tree: a prompt is the path from the root to it, so a request grew from the last
answer on its path, whatever stands between them in the file. Branches that were left were billed all the same. A fork
copies the entries it starts from into a file of its own. System text and tools are not logged, nor are restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import check_excludes_cached, input_excludes_cached, is_empty, reports_writes
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_name
from agentsim.core.session import Event, EventKind, Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.growing_file import GrowingLogs
from agentsim.traces.hostile_records import RawRow, Tally, rows_in, rows_of, tell_or_raise
from agentsim.traces.log_lines import LineChunk, chunks_of
from agentsim.traces.session_assembly import MAIN, Assembly, effort_setting, refuse_empty, stem
from agentsim.traces.time_stamps import nanoseconds
from agentsim.traces.told_names import told_name

NAME = "pi"
DESCRIPTION = "Pi coding agent sessions (~/.pi/agent/sessions/**/*.jsonl), also of its forks"
VERIFIED = True

MILLISECOND = 10**6
MAX_EVENTS = 100
"""So many events between two requests are kept."""

_THINKING = ("thinking", "redacted_thinking")


class _Block(msgspec.Struct, gc=False):
    type: str | None = None


class _Cost(msgspec.Struct, gc=False):
    total: msgspec.Raw = msgspec.Raw(b"")


class _Counters(msgspec.Struct, gc=False):
    input: Count | None = None
    output: Count | None = None
    cacheRead: Count | None = None
    cacheWrite: Count | None = None
    totalTokens: Count | None = None
    cost: _Cost | None = None


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    toolName: msgspec.Raw = msgspec.Raw(b"")
    provider: str | None = None
    model: str | None = None
    usage: _Counters | None = None
    stopReason: str | None = None
    timestamp: int | float | str | None = None
    content: list[_Block] | str | None = None


class _Entry(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    parentId: str | msgspec.UnsetType | None = msgspec.UNSET
    timestamp: str | None = None
    provider: str | None = None
    modelId: str | None = None
    thinkingLevel: str | None = None
    message: _Message | None = None


_entries = msgspec.json.Decoder(_Entry)

_Waiting = tuple[tuple[EventKind, int | None, str | None], "_Waiting | None"]


class _Place(msgspec.Struct):
    """An entry of the tree: the request its path last came by, and what was added since then."""

    request: str | None = None
    blocks: int = 0
    events: _Waiting | None = None
    provider: str | None = None
    model: str | None = None
    thinking: str | None = None


_ROOT = _Place()


_KINDS = tuple(
    b'"type":"' + kind + b'"'
    for kind in (b"message", b"model_change", b"thinking_level_change", b"compaction", b"custom_message")
)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins with the header of a Pi session, or with another entry of one."""
    first = head.lstrip().split(b"\n", 1)[0].replace(b" ", b"")
    if not first.startswith(b"{") or b'"createdAt":' in first or b'"timestamp":' not in first:
        return False
    if b'"type":"session"' in first:
        return b'"cwd":' in first
    # Its first line may be lost: a log that was cut, or of which only the end was kept.
    if b'"data":' in first or b'"sessionId":' in first or not any(kind in first for kind in _KINDS):
        return False
    return b'"parentId":' in first or b'"message":{"role":"' in first


def read_sessions(
    paths: Sequence[str], problems: list[Problem] | None = None, growing: GrowingPiLogs | None = None
) -> Iterator[Session]:
    """The sessions of these files. What a fork copied belongs to the session that began first.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it. With ``growing``,
    handed over again and again, only what was appended is read the next time.
    """
    scans: list[_Scan] = []
    for path in paths:
        try:
            scans.append(_Scan(path, rows_of(path, _entries)) if growing is None else growing.scan(path))
        except OSError as error:
            tell_or_raise(error, path, problems)
    seen: set[tuple[object, ...]] = set()
    for scan in sorted(scans, key=lambda scan: (scan.began is None, scan.began or 0, scan.path)):
        try:
            session = scan.build(seen)
            refuse_empty(session, scan.path, "answer with its usage", problems)
        except OSError as error:
            tell_or_raise(error, scan.path, problems)
            continue
        if session.requests:
            yield session


class _Scan:
    """One file, read. Its requests are found when it is known what earlier sessions hold."""

    def __init__(self, path: str, rows: Iterable[RawRow[_Entry]] = ()) -> None:
        self.path = path
        self.tally = Tally(path)
        self.id = stem(path)
        self.began: int | None = None
        self.entries: list[tuple[int, _Entry]] = []
        self.read(rows)

    def read(self, rows: Iterable[RawRow[_Entry]]) -> None:
        """Take in the next rows."""
        for row in rows:
            try:
                entry = row.checked()
            except BadRow as bad:
                self.tally.rows += 1
                self.tally.skip(row.line, bad)
                continue
            if entry.type == "session" and self.began is None:
                self.id = entry.id or self.id
                self.began = nanoseconds(entry.timestamp)
            if entry.type == "message" and entry.message is not None and entry.message.role == "assistant":
                self.tally.rows += 1
            self.entries.append((row.line, entry))

    def copy(self) -> _Scan:
        """One that can be built, and read on, by itself."""
        made = _Scan(self.path)
        vars(made).update(vars(self), tally=self.tally.copy(), entries=list(self.entries))
        return made

    def build(self, seen: set[tuple[object, ...]]) -> Session:
        """The session; ``seen`` holds what earlier sessions counted, and grows."""
        assembly = Assembly(self.id, NAME, self.tally)
        assembly.files.append(self.path)
        assembly.harness = "pi"
        places: dict[str, _Place] = {}
        last = _ROOT
        for line, entry in self.entries:
            before = last
            if entry.parentId is not msgspec.UNSET and entry.type != "session":
                before = places.get(entry.parentId, last) if entry.parentId is not None else _ROOT
            try:
                last = self._step(line, entry, before, assembly, seen)
            except BadRow as bad:
                self.tally.skip(line, bad)
                last = before
            if entry.id is not None:
                places[entry.id] = last
        self.entries = []
        return assembly.build("messages")

    def _step(
        self, line: int, entry: _Entry, before: _Place, assembly: Assembly, seen: set[tuple[object, ...]]
    ) -> _Place:
        replace = msgspec.structs.replace
        message = entry.message
        if entry.type in ("session", "model_change"):
            return replace(before, provider=entry.provider or before.provider, model=entry.modelId or before.model,
                           thinking=entry.thinkingLevel or before.thinking)  # fmt: skip
        if entry.type == "thinking_level_change":
            return replace(before, thinking=entry.thinkingLevel)
        if entry.type == "compaction":
            return self._noted(before, "compaction", entry)
        if entry.type == "custom_message":
            return replace(before, blocks=before.blocks + 1)
        if entry.type != "message" or message is None:
            return before
        if message.role == "assistant":
            return self._answer(line, entry, message, before, assembly, seen)
        place = replace(before, blocks=before.blocks + _blocks(message.content))
        if message.role == "toolResult":
            return self._noted(place, "tool_results", entry, told_name(message.toolName))
        return self._noted(place, "prompt_submitted", entry) if message.role == "user" else place

    def _noted(self, place: _Place, kind: EventKind, entry: _Entry, detail: str | None = None) -> _Place:
        return msgspec.structs.replace(place, events=((kind, nanoseconds(entry.timestamp), detail), place.events))

    def _answer(
        self,
        line: int,
        entry: _Entry,
        message: _Message,
        before: _Place,
        assembly: Assembly,
        seen: set[tuple[object, ...]],
    ) -> _Place:
        model = message.model or before.model or ""
        provider = provider_name(message.provider or before.provider, "unknown")
        usage = _usage(message.usage, provider, model)
        failed = message.stopReason in ("error", "aborted")
        if is_empty(usage):
            self.tally.not_billable += 1
            return self._noted(before, "api_error" if message.stopReason == "error" else "interrupted", entry)
        start = message.timestamp
        begun = int(start) * MILLISECOND if isinstance(start, int | float) and 0 <= start < 10**14 else None
        key = (entry.id, start, model, usage)
        copied = start is not None and key in seen
        seen.add(key)
        last = assembly.last.get(MAIN)
        events = _listed(before.events)
        if last is not None and before.request is not None and before.request != last.id and not failed:
            events.append(("rewind", begun, None))
        request = assembly.add(
            Request(
                id=entry.id or f"{self.id}#{line}",
                lane=MAIN,
                model=model,
                provider=provider,
                start=begun,
                end=nanoseconds(entry.timestamp),
                settings=effort_setting(before.thinking),
                usage=usage,
                stop_reason=message.stopReason,
                logged_cost=_cost(message.usage),
                appended_blocks=before.blocks if before.request is not None else None,
                counted=not copied,
                source=Source(self.path, line),
            ),
            parent=before.request,
            events=[Event(kind=kind, time=time, lane=MAIN, detail=detail) for kind, time, detail in events],
        )
        if failed:
            # It was billed, but the next prompt does not hold its answer, and may not find what it wrote. What happened
            # before it also happened before the next one.
            return before
        return msgspec.structs.replace(before, request=request.id, blocks=_blocks(message.content), events=None)


class GrowingPiLogs:
    """Logs of Pi that are being written."""

    def __init__(self) -> None:
        self._logs = GrowingLogs(_Scan, lambda scan, chunks, before: scan.read(_rows(chunks, before)))

    def scan(self, path: str) -> _Scan:
        """What :class:`_Scan` reads of the whole file."""
        file, scan = self._logs.log(path)
        if not file.can_grow:
            return _Scan(path, rows_of(path, _entries))
        scan = scan.copy()
        scan.read(_rows(file.last_line(), file.lines))
        return scan


def _rows(chunks: Iterable[LineChunk], before: int) -> Iterator[RawRow[_Entry]]:
    return rows_in(chunks_of(chunks, before + 1), _entries)


def _cost(sent: _Counters | None) -> int | None:
    return None if sent is None or sent.cost is None else logged_picodollars(sent.cost.total)


def _usage(sent: _Counters | None, provider: str, model: str) -> Usage:
    if sent is None:
        raise BadRow("no usage", "an answer without usage")
    write = sent.cacheWrite
    if write == 0 and not reports_writes(provider, model):
        write = None
    check_excludes_cached(sent.input, (sent.cacheRead or 0) + (write or 0), sent.output, sent.totalTokens)
    return input_excludes_cached(sent.input, sent.cacheRead, write, sent.output)


def _blocks(content: list[_Block] | str | None) -> int:
    if isinstance(content, list):
        return sum(block.type not in _THINKING for block in content)
    return 0 if content is None else 1


def _listed(waiting: _Waiting | None) -> list[tuple[EventKind, int | None, str | None]]:
    events: list[tuple[EventKind, int | None, str | None]] = []
    while waiting is not None and len(events) < MAX_EVENTS:
        events.append(waiting[0])
        waiting = waiting[1]
    return events[::-1]
