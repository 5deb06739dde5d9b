"""Recorded sessions with the file that each was read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import Problem, Request, Session
from agentsim.traces.format_registry import LogFormat, told_format
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.log_walk import find

ONE_FILE = frozenset(
    {"agentsim.traces.readers.agentsim1", "agentsim.traces.readers.claude_trace", "agentsim.traces.readers.pairs"}
)
"""Formats in which a file says all about its sessions. The others tell one session in several files, which have to be
read together."""


class Recording(msgspec.Struct, frozen=True):
    """A session and the files that it was read from; the first one is its address."""

    session: Session
    files: tuple[str, ...]


def read_recordings(paths: Sequence[str], problems: list[Problem]) -> Iterator[Recording]:
    """The sessions of these files and folders, one at a time. What cannot be read at all is told in ``problems``."""
    together: dict[LogFormat, list[str]] = {}
    for found in find(paths, problems.append):
        format = told_format(found, problems)
        if format is None:
            continue
        if format.module in ONE_FILE:
            for session in _sessions(format, [found.path], problems):
                yield Recording(session, (found.path,))
        else:
            together.setdefault(format, []).append(found.path)
    for format, files in together.items():
        for session in _sessions(format, files, problems):
            yield Recording(session, session.files or tuple(files[:1]))


class Lines:
    """The lines of a file on which its requests stand. Read only when one is asked for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[tuple[str, str], int] | None = None

    def place(self, request: Request) -> tuple[str, int | None]:
        """The file and, where it is known, the line of a request."""
        source, file = request.source, self._recording.files[0]
        if source is not None and source.file in self._recording.files:
            return source.file, source.line
        if self._known is None:
            self._known = _lines_of_trace(file) if source is None or source.file != file else {}
        return file, self._known.get((self._recording.session.id, request.id))


class _Head(msgspec.Struct):
    record: str | None = None
    id: str | None = None


def _lines_of_trace(file: str) -> dict[tuple[str, str], int]:
    """The lines of an agentsim/1 trace by session and request; empty for other files."""
    decoder = msgspec.json.Decoder(_Head)
    lines: dict[tuple[str, str], int] = {}
    session = ""
    try:
        with open(file, "rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    head = decoder.decode(line)
                except (msgspec.DecodeError, RecursionError):
                    continue
                if head.record == "session":
                    session = head.id or ""
                elif head.record == "request" and head.id is not None:
                    lines.setdefault((session, head.id), number)
    except OSError:
        return {}
    return lines


def _sessions(format: LogFormat, files: list[str], problems: list[Problem]) -> Iterator[Session]:
    try:
        yield from format.reader.read_sessions(files, problems)
    except OSError as error:
        problems.append(_problem(error, files[0]))


def _problem(error: OSError, path: str) -> Problem:
    if isinstance(error, TraceError):
        return Problem(file=error.file, line=error.line or 0, reason=error.reason, remedy=error.remedy or "")
    return Problem(file=path, line=0, reason=error.strerror or str(error), remedy="check that you may read it")
