"""Kimi CLI's and Kimi Code's record of what went over their wire: ``wire.jsonl`` of a session or of a subagent.

Usage convention: ``input_other`` is without what was cached; reads and writes stand beside it. A status follows each
answer at once, before its tools run: its time is the end of the request, and that of the step's beginning its start.
Records of usage, which newer versions write, name the model and the end alone. Statuses name no model, so that they
have no price.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_excludes_cached, is_empty
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import Count
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, take_events
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "kimi"
DESCRIPTION = "Kimi CLI and Kimi Code (~/.kimi/sessions/**/wire.jsonl; from its source and descriptions)"
VERIFIED = False

PROVIDER = "moonshotai"
"""Who serves its own models; the record names no provider."""


class _Usage(
    msgspec.Struct,
    gc=False,
    rename={"other": "input_other", "read": "input_cache_read", "written": "input_cache_creation"},
):
    other: Count | None = None
    read: Count | None = None
    written: Count | None = None
    output: Count | None = None


class _NewerUsage(
    msgspec.Struct, gc=False, rename={"other": "inputOther", "read": "inputCacheRead", "written": "inputCacheCreation"}
):
    other: Count | None = None
    read: Count | None = None
    written: Count | None = None
    output: Count | None = None


class _Payload(msgspec.Struct, gc=False):
    token_usage: _Usage | None = None
    message_id: str | None = None


class _Message(msgspec.Struct, gc=False):
    type: str | None = None
    payload: _Payload | None = None


class _Line(msgspec.Struct, gc=False):
    timestamp: msgspec.Raw = msgspec.Raw()
    message: _Message | None = None
    type: str | None = None
    model: str | None = None
    usage: _NewerUsage | None = None
    time: msgspec.Raw = msgspec.Raw()


_lines = msgspec.json.Decoder(_Line)
_METADATA = re.compile(rb'^\s*\{[^{}\n]*"type"\s*:\s*"metadata"[^{}\n]*\}')


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins with the metadata of a wire record, or (before there was such a line) with a turn."""
    first = _METADATA.match(head)
    if first is not None:
        return b'"protocol_version"' in first[0]
    line = head.lstrip().split(b"\n", 1)[0].replace(b" ", b"")
    return b'"message":{"type":"TurnBegin","payload":' in line and b'"timestamp":' in line


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file; one of a subagent is a session of its own. An answer that came before is counted once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _WireRecord(path, seen).session(), "answer with its usage")


def session_of(path: str) -> str:
    """The name of a session: the folder of its record, with that of the session before it for an agent's."""
    folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
    if len(folders) > 2 and folders[-2] in ("agents", "subagents"):
        return folders[-3] if folders[-1] == "main" else f"{folders[-3]}/{folders[-1]}"
    return folders[-1]


class _WireRecord:
    """Reads one file."""

    def __init__(self, path: str, seen: set[str]) -> None:
        self.path = path
        self.seen = seen
        self.assembly = Assembly.of_file(path, NAME, session_of(path))
        self.assembly.harness = "kimi"
        self.begun: int | None = None

    def session(self) -> Session:
        """The session of the file."""
        take_events(self.path, _lines, self.assembly.tally, self._take)
        return self.assembly.build("messages")

    def _take(self, line: int, row: _Line) -> None:
        if row.type == "usage.record" and row.usage is not None:
            model = (row.model or "").rpartition("/")[2]
            self._add(line, _counted(row.usage), model, None, _moment(row.time), None)
            return
        message, time = row.message, _moment(row.timestamp)
        if message is None:
            return
        kind, payload = message.type, message.payload
        if kind == "TurnBegin":
            self.assembly.note("prompt_submitted", time)
        elif kind == "CompactionEnd":
            self.assembly.note("compaction", time)
        elif kind == "StepBegin":
            self.begun = time
        elif kind == "StatusUpdate" and payload is not None and payload.token_usage is not None:
            self._add(line, _counted(payload.token_usage), "", self.begun, time, payload.message_id)
            self.begun = None

    def _add(self, line: int, usage: Usage, model: str, start: int | None, end: int | None, id: str | None) -> None:
        tally = self.assembly.tally
        tally.rows += 1
        if is_empty(usage):
            tally.not_billable += 1
            return
        own = id or f"{self.assembly.id}#{line}"
        if own in self.seen:
            tally.duplicate += 1
            return
        self.seen.add(own)
        self.assembly.add(
            Request(
                id=own,
                lane=MAIN,
                model=model,
                provider=PROVIDER,
                start=start,
                end=end,
                usage=usage,
                source=Source(self.path, line),
            )
        )


def _counted(sent: _Usage | _NewerUsage) -> Usage:
    # A server that has no writes says 0 for them.
    return input_excludes_cached(sent.other, sent.read, sent.written or None, sent.output)


def _moment(number: msgspec.Raw) -> int | None:
    return unix_nanoseconds(bytes(number))
