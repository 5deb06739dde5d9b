"""Event logs of the Copilot CLI: who said what when, and output tokens; the input of a call is not logged.

Usage convention: ``outputTokens`` of each call. Input and cache counters stand in ``session.shutdown`` only, as sums
for a model, and are told as they stand there; what a single call read or wrote is unknown, never 0. A call's start is
that of its turn, or the end of the tools before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.messages_usage import ABSENT
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.session_assembly import MAIN, Assembly, effort_setting, read_each, take_events
from agentsim.traces.time_stamps import nanoseconds
from agentsim.traces.told_names import told_name

NAME = "copilot-cli"
DESCRIPTION = "Copilot CLI events (~/.copilot/session-state/*/events.jsonl); output tokens only"
VERIFIED = True


class _Event(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    data: msgspec.Raw = ABSENT


class _Start(msgspec.Struct, gc=False):
    sessionId: str | None = None
    copilotVersion: str | None = None
    selectedModel: str | None = None


class _ModelChange(msgspec.Struct, gc=False):
    newModel: str | None = None
    reasoningEffort: str | None = None


class _Message(msgspec.Struct, gc=False):
    messageId: str | None = None
    model: str | None = None
    outputTokens: Count | None = None
    apiCallId: str | None = None
    parentToolCallId: str | None = None


class _Sums(msgspec.Struct, gc=False):
    inputTokens: Count | None = None
    outputTokens: Count | None = None
    cacheReadTokens: Count | None = None
    cacheWriteTokens: Count | None = None


class _Count(msgspec.Struct, gc=False):
    count: Count | None = None


class _ModelMetrics(msgspec.Struct, gc=False):
    requests: _Count | None = None
    usage: _Sums | None = None


class _Names(msgspec.Struct, gc=False):
    """What tells a tool, a hook or a mode; left out where it is of another shape."""

    toolName: msgspec.Raw = ABSENT
    hookType: msgspec.Raw = ABSENT
    newMode: msgspec.Raw = ABSENT


class _Shutdown(msgspec.Struct, gc=False):
    modelMetrics: dict[str, _ModelMetrics] = msgspec.field(default_factory=dict)


_events = msgspec.json.Decoder(_Event)
_starts = msgspec.json.Decoder(_Start)
_model_changes = msgspec.json.Decoder(_ModelChange)
_messages = msgspec.json.Decoder(_Message)
_names = msgspec.json.Decoder(_Names)
_shutdowns = msgspec.json.Decoder(_Shutdown)


def _names_of(data: msgspec.Raw) -> _Names:
    try:
        return _names.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Names()


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like an event log."""
    if b'"parentId"' not in head or b'"data"' not in head:
        return False
    return (b"copilot" in head[:4096] and b'"session.start"' in head) or b'"assistant.turn_start"' in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. A call that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _Log(path, seen).session(), "call of a model")


class _Log:
    """Reads one file."""

    def __init__(self, path: str, seen: set[str]) -> None:
        self.path = path
        self.seen = seen
        self.assembly = Assembly.of_file(path, NAME)
        self.tally = self.assembly.tally
        self.assembly.harness = "copilot-cli"
        self.model = ""
        self.effort: str | None = None
        self.version: str | None = None
        self.begun: int | None = None

    def session(self) -> Session:
        """The session of the file."""
        take_events(self.path, _events, self.tally, self._take)
        return self.assembly.build("messages")

    def _take(self, line: int, event: _Event) -> None:
        kind, time = event.type, nanoseconds(event.timestamp)
        if kind == "assistant.message":
            self._message(line, event, decode(_messages, event.data), time)
        elif kind in ("assistant.turn_start", "tool.execution_complete"):
            self.begun = time
        elif kind == "tool.execution_start":
            self.assembly.note("tool_results", time, detail=told_name(_names_of(event.data).toolName))
        elif kind == "hook.start":
            self.assembly.note("hook_output", time, detail=told_name(_names_of(event.data).hookType))
        elif kind == "session.mode_changed":
            self.assembly.note("mode_change", time, detail=told_name(_names_of(event.data).newMode))
        elif kind == "session.start":
            start = decode(_starts, event.data)
            self.assembly.id = start.sessionId or self.assembly.id
            self.version, self.model = start.copilotVersion, start.selectedModel or self.model
        elif kind == "session.model_change":
            change = decode(_model_changes, event.data)
            self.model, self.effort = change.newModel or self.model, change.reasoningEffort
        elif kind == "user.message":
            self.assembly.note("prompt_submitted", time)
        elif kind == "session.compaction_complete":
            self.assembly.note("compaction", time)
        elif kind == "session.resume":
            self.assembly.note("resume", time)
        elif kind == "abort":
            self.assembly.note("interrupted", time)
        elif kind == "session.shutdown":
            self._shutdown(line, decode(_shutdowns, event.data))

    def _message(self, line: int, event: _Event, message: _Message, time: int | None) -> None:
        self.tally.rows += 1
        id = message.apiCallId or message.messageId or event.id
        if id is not None and id in self.seen:
            self.tally.duplicate += 1
            return
        self.seen.add(id or "")
        model = message.model or self.model
        lane = MAIN
        if message.parentToolCallId is not None:
            lane = self.assembly.lane(
                f"subagent {message.parentToolCallId}", title="subagent", purpose="subagent", parent=MAIN
            )
        self.assembly.add(
            Request(
                id=id or f"{self.assembly.id}#{line}",
                lane=lane,
                model=model,
                provider=provider_of(model=model),
                start=self.begun,
                end=time,
                settings=effort_setting(self.effort),
                usage=Usage(output=message.outputTokens),
                harness_version=self.version,
                source=Source(self.path, line),
            )
        )

    def _is_whole(self, model: str, metrics: _ModelMetrics) -> bool:
        """Whether the sums are those of the one call that there was."""
        calls = [request for request in self.assembly.requests if request.model == model]
        told = metrics.requests.count if metrics.requests is not None else None
        sums = metrics.usage
        return (
            told == 1
            and len(calls) == 1
            and sums is not None
            and calls[0].usage is not None
            and (calls[0].usage.output == sums.outputTokens)
        )

    def _fill(self, model: str, sums: _Sums) -> None:
        try:
            usage = input_includes_cached(
                sums.inputTokens, sums.cacheReadTokens, sums.cacheWriteTokens or None, sums.outputTokens
            )
        except BadRow as bad:
            self.tally.tell(0, bad, note=True)
            return
        self.assembly.requests = [
            msgspec.structs.replace(request, usage=usage) if request.model == model else request
            for request in self.assembly.requests
        ]

    def _shutdown(self, line: int, shutdown: _Shutdown) -> None:
        for model, metrics in sorted(shutdown.modelMetrics.items()):
            sums = metrics.usage
            if sums is not None and self._is_whole(model, metrics):
                self._fill(model, sums)
            elif sums is not None:
                self.tally.problems.append(
                    Problem(
                        file=self.path,
                        line=line,
                        reason=f"input is counted for the session only: {model} {sums.inputTokens} tokens, of which "
                        f"{sums.cacheReadTokens} read and {sums.cacheWriteTokens} written",
                        remedy="the table assistant_usage_events of session-store.db has each call's input",
                        note=True,
                    )
                )
