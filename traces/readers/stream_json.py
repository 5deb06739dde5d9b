"""What ``claude -p --output-format stream-json`` prints: messages as they come, and sums at the end.

Usage convention: that of the Messages API, ``input_tokens`` excludes cached tokens. A message stands on several lines
with one id; the line with the greatest output is kept whole. Output counts of single calls are often the placeholder of
a stream's beginning: they are final only where the message says how it stopped. Lines have no times of their own; a
``timestamp`` that the consumer added is taken. Subagents are told by the tool call that they answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import is_empty
from agentsim.bodies.messages_usage import ABSENT, SentUsage, diagnosis_of, usage_of
from agentsim.core.counts import plural
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.hostile_records import rows_of
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "claude-stream-json"
DESCRIPTION = "output of claude -p --output-format stream-json (lines, or one array)"
VERIFIED = False


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: SentUsage | None = None
    diagnostics: msgspec.Raw = ABSENT


class _Result(msgspec.Struct, gc=False):
    output_tokens: Count | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    subtype: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    timestamp: str | None = None
    claude_code_version: str | None = None
    message: msgspec.Raw = ABSENT
    usage: msgspec.Raw = ABSENT


_lines = msgspec.json.Decoder(_Line)
_messages = msgspec.json.Decoder(_Message)
_results = msgspec.json.Decoder(_Result)
_arrays: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like that output."""
    start = head.lstrip()
    if not start.startswith((b"{", b"[")) or b'"session_id"' not in head or b'"sessionId"' in head:
        return False
    init = b'"subtype"' in head and b'"init"' in head and b'"system"' in head
    return init or (b'"assistant"' in head and b'"message"' in head and b'"parent_tool_use_id"' in head)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. A message that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "message with its usage")


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    assembly.harness = "claude-code"
    version: str | None = None
    waiting: dict[str, tuple[int, _Line, _Message]] = {}
    sums: int | None = None

    def settle(id: str) -> None:
        """A message is over when the next one begins in its lane: only then its best line is known."""
        number, line, message = waiting.pop(id)
        try:
            _add(number, line, message, assembly, version, path)
        except BadRow as bad:
            tally.skip(number, bad)

    for number, line, bad_line in _rows(path):
        if line is None:
            tally.rows += 1
            tally.skip(number, bad_line or BadRow("broken JSON"))
            continue
        time = nanoseconds(line.timestamp)
        assembly.id = line.session_id or assembly.id
        if line.type == "system":
            version = line.claude_code_version or version
            for id in [key for key, held in waiting.items() if held[1].parent_tool_use_id is None]:
                settle(id)
            if line.subtype == "compact_boundary":
                assembly.note("compaction", time)
            elif line.subtype == "api_retry":
                assembly.note("api_error", time)
            continue
        if line.type == "result" and line.usage:
            try:
                sums = decode(_results, line.usage).output_tokens
            except BadRow:
                sums = None
        if line.type != "assistant":
            continue
        tally.rows += 1
        try:
            message = decode(_messages, line.message) if line.message else _Message()
            if message.usage is None:
                raise BadRow("no usage", "a message without usage")
        except BadRow as bad:
            tally.skip(number, bad)
            continue
        id = message.id or line.uuid or f"#{number}"
        best = waiting.get(id)
        if best is not None:
            tally.duplicate += 1
            if _output(message) >= _output(best[2]):
                waiting[id] = (number, best[1], message)
            continue
        if id in seen:
            tally.duplicate += 1
            continue
        seen.add(id)
        for other in [key for key, held in waiting.items() if held[1].parent_tool_use_id == line.parent_tool_use_id]:
            settle(other)
        waiting[id] = (number, line, message)
    for id in list(waiting):
        settle(id)
    placeholders = sum(not request.output_final for request in assembly.requests)
    if placeholders:
        total = f"; {sums} for the main conversation by the result" if sums is not None else ""
        reason = f"the output of {plural(placeholders, 'message')} is a placeholder{total}"
        tally.problems.append(
            Problem(file=path, line=0, reason=reason, remedy="the session's log has the final counts", note=True)
        )
    return assembly.build("messages")


def _output(message: _Message) -> int:
    return (message.usage.output_tokens or 0) if message.usage is not None else 0


def _rows(path: str) -> Iterator[tuple[int, _Line | None, BadRow | None]]:
    with open(path, "rb") as file:
        is_array = file.read(4096).lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"[")
    if not is_array:
        for row in rows_of(path, _lines):
            yield row.line, row.value, row.bad
        return
    entries = read_document(path, _arrays)
    for number, raw in enumerate(entries, 1):
        try:
            yield number, decode(_lines, raw), None
        except BadRow as bad:
            yield number, None, bad


def _add(
    number: int, line: _Line, message: _Message, assembly: Assembly, version: str | None, path: str
) -> Request | None:
    assert message.usage is not None
    usage = usage_of(message.usage)
    if is_empty(usage) or message.model == "<synthetic>":
        assembly.tally.not_billable += 1
        return None
    lane = MAIN
    if line.parent_tool_use_id is not None:
        lane = assembly.lane(f"subagent {line.parent_tool_use_id}", title="subagent", purpose="subagent", parent=MAIN)
    sent = message.usage
    iterations = sent.iterations or ()
    return assembly.add(
        Request(
            id=message.id or line.uuid or f"{assembly.id}#{number}",
            lane=lane,
            model=message.model or "",
            start=None,
            end=nanoseconds(line.timestamp),
            usage=usage,
            iterations=tuple(usage_of(item) for item in iterations) if len(iterations) > 1 else (),
            diagnosis=diagnosis_of(message.diagnostics),
            stop_reason=message.stop_reason,
            service_tier=sent.service_tier,
            speed=sent.speed,
            region=sent.inference_geo,
            harness_version=version,
            output_final=message.stop_reason is not None,
            source=Source(path, number),
        )
    )
