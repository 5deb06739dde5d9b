"""Chat recordings of Qwen Code, which came out of the Gemini CLI and writes a tree of lines.

Usage convention: ``promptTokenCount`` includes ``cachedContentTokenCount``; ``candidatesTokenCount`` includes thoughts
where the total says so, else they are added (checked: what is left of the input is not negative). Nothing is reported
as written. An answer's end is its time; its start is that of the last line before it that is no answer's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached, is_empty
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count
from agentsim.traces.hostile_records import rows_of
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import nanoseconds

NAME = "qwen-code"
DESCRIPTION = "Qwen Code chats (~/.qwen/projects/*/chats/*.jsonl)"
VERIFIED = False


class _Counters(msgspec.Struct, gc=False):
    promptTokenCount: Count | None = None
    candidatesTokenCount: Count | None = None
    thoughtsTokenCount: Count | None = None
    cachedContentTokenCount: Count | None = None
    totalTokenCount: Count | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    version: str | None = None
    model: str | None = None
    usageMetadata: _Counters | None = None


_lines = msgspec.json.Decoder(_Line)

PROVIDER = "alibaba"
"""Who serves its own models; the log names no provider."""


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a chat of Qwen Code: a tree of lines whose messages have parts."""
    return b'"parentUuid"' in head and b'"sessionId"' in head and b'"parts"' in head and b'"isSidechain"' not in head


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. An answer that came before (in the same or another file) is counted once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    seen: set[str] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "answer with its usage")


def _session(path: str, seen: set[str]) -> Session:
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    assembly.harness = "qwen-code"
    nearest: dict[str, str | None] = {}
    begun: int | None = None
    for row in rows_of(path, _lines):
        try:
            line = row.checked()
            if line.type == "assistant" and line.usageMetadata is None:
                raise BadRow("no usage", "an answer without usageMetadata")
            usage = _usage(line.usageMetadata) if line.type == "assistant" else Usage()
        except BadRow as bad:
            tally.rows += 1
            tally.skip(row.line, bad)
            continue
        assembly.id = line.sessionId or assembly.id
        time = nanoseconds(line.timestamp)
        parent = nearest.get(line.parentUuid or "")
        if line.type != "assistant":
            if line.type == "user":
                assembly.note("prompt_submitted", time)
            elif line.subtype == "chat_compression":
                assembly.note("compaction", time)
            begun = time if line.type in ("user", "tool_result") else begun
        else:
            tally.rows += 1
            if is_empty(usage):
                tally.not_billable += 1
            else:
                copied = line.uuid is not None and line.uuid in seen
                seen.add(line.uuid or "")
                request = Request(
                    id=line.uuid or f"{assembly.id}#{row.line}",
                    lane=MAIN,
                    model=line.model or "",
                    provider=PROVIDER,
                    start=begun,
                    end=time,
                    usage=usage,
                    harness_version=line.version,
                    counted=not copied,
                    source=Source(path, row.line),
                )
                parent = assembly.add(request, parent=parent).id
        if line.uuid is not None:
            nearest[line.uuid] = parent
    return assembly.build("messages")


def _usage(sent: _Counters | None) -> Usage:
    if sent is None:
        return Usage()
    output, thoughts, total = sent.candidatesTokenCount, sent.thoughtsTokenCount or 0, sent.totalTokenCount
    if output is not None and thoughts and total != (sent.promptTokenCount or 0) + output:
        output += thoughts
    return input_includes_cached(sent.promptTokenCount, sent.cachedContentTokenCount, None, output)
