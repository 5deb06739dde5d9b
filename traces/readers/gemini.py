"""Chat recordings of the Gemini CLI: a journal of JSON lines, or the single document of older versions.

Usage convention: ``input`` includes ``cached``, ``thoughts`` come on top of ``output`` and are added to it here
(checked: what is left of the input is not negative). Caching is implicit: nothing is reported as written. There are no
start times; a message's time is when it was recorded, at its end. In a journal a message may stand several times, the
last of them holds; ``$rewindTo`` takes messages back, which were billed all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached, is_empty
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode
from agentsim.traces.hostile_records import Tally, rows_of
from agentsim.traces.json_documents import document_bytes, parse_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each, stem
from agentsim.traces.time_stamps import nanoseconds

NAME = "gemini-cli"
DESCRIPTION = "Gemini CLI chats (~/.gemini/tmp/*/chats/session-*.jsonl, or .json)"
VERIFIED = False


class _Tokens(msgspec.Struct, gc=False):
    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    total: Count | None = None


class _Record(msgspec.Struct, gc=False):
    """A message, the journal's first line, or a change to what was written before."""

    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    tokens: _Tokens | None = None
    sessionId: str | None = None
    kind: str | None = None
    rewound: str | None = msgspec.field(default=None, name="$rewindTo")


class _Document(msgspec.Struct, gc=False):
    sessionId: str | None = None
    kind: str | None = None
    messages: list[msgspec.Raw] = msgspec.field(default_factory=list)


_records = msgspec.json.Decoder(_Record)
_documents = msgspec.json.Decoder(_Document)


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a recorded chat."""
    start = head.lstrip()[:4096]
    if not start.startswith(b"{") or b'"sessionId"' not in head or b'"parentUuid"' in head:
        return False
    return b'"projectHash"' in head or (b'"type"' in head and b'"gemini"' in head and b'"tokens"' in head)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told in ``problems``; without that list OSError is raised
    for it."""
    seen: set[tuple[str, str]] = set()
    yield from read_each(paths, problems, lambda path: _session(path, seen), "answer with its tokens")


def _session(path: str, seen: set[tuple[str, str]]) -> Session:
    tally = Tally(path)
    id, kind, found = _journal(path, tally) if _is_journal(path) else _document(path, tally)
    assembly = Assembly(id or stem(path), NAME, tally)
    assembly.files.append(path)
    assembly.harness = "gemini-cli"
    assembly.lane(MAIN, purpose="subagent" if kind == "subagent" else "main")
    parent: str | None = None
    parents: dict[str, str | None] = {}
    for line, record in found:
        time = nanoseconds(record.timestamp)
        if record.id is not None:
            parents.setdefault(record.id, parent)
        if record.rewound is not None:
            assembly.note("rewind", time)
            parent = parents.get(record.rewound, parent)
        elif record.type == "user":
            assembly.note("prompt_submitted", time)
        elif record.type == "gemini":
            key = (assembly.id, record.id or f"{path}#{line}")
            if key in seen:
                tally.duplicate += 1
                continue
            seen.add(key)
            try:
                usage = _usage(record.tokens)
            except BadRow as bad:
                tally.skip(line, bad)
                continue
            if is_empty(usage):
                tally.not_billable += 1
                continue
            request = assembly.add(
                Request(
                    id=record.id or f"{assembly.id}#{line}",
                    lane=MAIN,
                    model=record.model or "",
                    provider="google",
                    start=None,
                    end=time,
                    usage=usage,
                    source=Source(path, line),
                ),
                parent=parent,
            )
            parent = request.id
    return assembly.build("messages")


def _usage(tokens: _Tokens | None) -> Usage:
    if tokens is None:
        raise BadRow("no usage", "an answer without tokens")
    output = None if tokens.output is None else tokens.output + (tokens.thoughts or 0)
    return input_includes_cached(tokens.input, tokens.cached, None, output)


def _is_journal(path: str) -> bool:
    """Whether the file's first line is an object by itself."""
    for row in rows_of(path, _records):
        return row.bad is None and row.data.rstrip().endswith(b"}")
    return True


def _journal(path: str, tally: Tally) -> tuple[str | None, str | None, list[tuple[int, _Record]]]:
    id = kind = None
    found: list[tuple[int, _Record]] = []
    places: dict[str, int] = {}
    document: _Document | None = None
    for row in rows_of(path, _records):
        try:
            record = row.checked()
        except BadRow as bad:
            tally.rows += 1
            tally.skip(row.line, bad)
            continue
        id, kind = id or record.sessionId, kind or record.kind
        if record.type == "gemini":
            tally.rows += 1
            if record.id is not None and record.id in places:
                tally.duplicate += 1
                found[places[record.id]] = (row.line, record)
                continue
            if record.id is not None:
                places[record.id] = len(found)
        elif record.type is None and record.rewound is None and document is None and b'"messages"' in row.data:
            document = decode(_documents, row.data)  # a whole older recording on one line
            found += _messages(document, tally)
            continue
        found.append((row.line, record))
    return id, kind, found


def _document(path: str, tally: Tally) -> tuple[str | None, str | None, list[tuple[int, _Record]]]:
    document = parse_document(document_bytes(path), path, _documents)
    return document.sessionId, document.kind, _messages(document, tally)


def _messages(document: _Document, tally: Tally) -> list[tuple[int, _Record]]:
    found: list[tuple[int, _Record]] = []
    for number, raw in enumerate(document.messages, 1):
        try:
            record = decode(_records, raw)
        except BadRow as bad:
            tally.rows += 1
            tally.skip(number, bad)
            continue
        tally.rows += record.type == "gemini"
        found.append((number, record))
    return found
