"""All formats that can be read, told apart by content.

A reader is a module with ``NAME``, ``DESCRIPTION``, ``VERIFIED``, ``detect(head, path)`` and ``read_sessions(paths,
problems)``. It is imported when it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

import msgspec

from agentsim.core.session import Problem, Session
from agentsim.traces.hostile_records import ReadProblems, TraceError
from agentsim.traces.log_lines import BOM, open_log
from agentsim.traces.log_walk import LOG_ENDS, QUIET_ENDS, FoundFile, find

HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to tell its format."""


class Reader(Protocol):
    """What the module of a format provides."""

    NAME: str
    DESCRIPTION: str
    VERIFIED: bool

    @staticmethod
    def detect(head: bytes, path: str) -> bool:
        """Whether a file that begins so is of this format."""

    @staticmethod
    def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterable[Session]:
        """The sessions of files of this format."""


class LogFormat(msgspec.Struct, frozen=True):
    """A format by its module."""

    module: str

    @property
    def reader(self) -> Reader:
        """The module, imported now."""
        return cast(Reader, import_module(self.module))

    @property
    def name(self) -> str:
        """The short name that a session carries."""
        return self.reader.NAME

    @property
    def description(self) -> str:
        """One line for people."""
        return self.reader.DESCRIPTION

    @property
    def verified(self) -> bool:
        """Whether the reader was tried on logs of real programs."""
        return self.reader.VERIFIED


FORMATS = (
    LogFormat("agentsim.traces.readers.agentsim1"),
    LogFormat("agentsim.traces.readers.entire"),
    LogFormat("agentsim.traces.readers.har"),
    LogFormat("agentsim.traces.readers.claude_trace"),
    LogFormat("agentsim.traces.readers.claude_code"),
    LogFormat("agentsim.traces.readers.stream_json"),
    LogFormat("agentsim.traces.readers.raw_bodies"),
    LogFormat("agentsim.traces.readers.codex"),
    LogFormat("agentsim.traces.readers.dsh"),
    LogFormat("agentsim.traces.readers.pi"),
    LogFormat("agentsim.traces.readers.opencode"),
    LogFormat("agentsim.traces.readers.gemini"),
    LogFormat("agentsim.traces.readers.qwen"),
    LogFormat("agentsim.traces.readers.cline"),
    LogFormat("agentsim.traces.readers.openhands"),
    LogFormat("agentsim.traces.readers.swe_agent"),
    LogFormat("agentsim.traces.readers.copilot"),
    LogFormat("agentsim.traces.readers.vcr"),
    LogFormat("agentsim.traces.readers.openai_batch"),
    LogFormat("agentsim.traces.readers.anthropic_batch"),
    LogFormat("agentsim.traces.readers.litellm"),
    LogFormat("agentsim.traces.readers.helicone"),
    LogFormat("agentsim.traces.readers.langfuse"),
    LogFormat("agentsim.traces.readers.langsmith"),
    LogFormat("agentsim.traces.readers.otel"),
    LogFormat("agentsim.traces.readers.atif"),
    LogFormat("agentsim.traces.readers.dynamo"),
    LogFormat("agentsim.traces.readers.weka"),
    LogFormat("agentsim.traces.readers.aiperf"),
    LogFormat("agentsim.traces.readers.mooncake"),
    LogFormat("agentsim.traces.readers.lmcache"),
    LogFormat("agentsim.traces.readers.azure_llm"),
    LogFormat("agentsim.traces.readers.burst_gpt"),
    LogFormat("agentsim.traces.readers.pairs"),
)
"""In the order in which they are tried: the most particular one first."""


def detect(path: str) -> LogFormat | None:
    """The format of a file, or of the first file of a folder that has one; ``None`` when it has none that is known.

    Raises OSError when the file cannot be read.
    """
    if not os.path.isdir(path):
        return format_of(_head(path), path)
    for file in find((path,), _ignore):
        try:
            found = format_of(_head(file.path), file.path)
        except OSError:
            continue
        if found is not None:
            return found
    return None


def read(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of files and folders, whatever their formats, each request counted once within a format.

    The order depends on the names of the files and not on the order of ``paths``. A file that was named and is of no
    known format raises TraceError (an OSError). What else is wrong is told in ``problems`` once all was read. Without
    that list, a file that was named and could not be used raises TraceError once the others are read. An input without
    any session raises it in either case.
    """
    told = ReadProblems()
    groups, named = grouped(paths, told)
    count = 0
    for format, files in groups.items():
        for session in format.reader.read_sessions(files, told):
            count += 1
            yield session
    if problems is not None:
        problems += told
    faults = [problem for problem in told.unusable if problem.file in named]
    if not count or (faults and problems is None):
        raise nothing_found(paths, faults or told)


def grouped(paths: Sequence[str], problems: list[Problem]) -> tuple[dict[LogFormat, list[str]], frozenset[str]]:
    """The files at and under these paths by format, in the order of :data:`FORMATS`; and which of them were named.

    A file that was named and is of no known format raises TraceError; one in a folder is told in ``problems``.
    """
    found = find(paths, problems.append)
    by_format: dict[LogFormat, list[str]] = {}
    for file in found:
        format = _checked_format(file, problems)
        if format is not None:
            by_format.setdefault(format, []).append(file.path)
    groups = {format: by_format[format] for format in FORMATS if format in by_format}
    return groups, frozenset(file.path for file in found if file.named)


def _checked_format(file: FoundFile, problems: list[Problem]) -> LogFormat | None:
    remedy = "'agentsim trace formats' lists what can be read"
    try:
        head = _head(file.path)
    except OSError as error:
        reason, remedy = error.strerror or str(error), "check that it is a file you may read"
    else:
        format = format_of(head, file.path)
        if format is not None:
            return format
        reason = "of no known format; expected JSON lines of an agent's log" if head.strip() else "an empty file"
    if file.named:
        raise TraceError(file.path, reason, remedy)
    if not file.path.endswith(LOG_ENDS) and file.path.endswith(QUIET_ENDS):
        return None
    problems.append(Problem(file=file.path, line=0, reason=reason, remedy=remedy))
    return None


def format_of(head: bytes, path: str) -> LogFormat | None:
    """The format of a file at ``path`` that begins with ``head``; ``None`` when it has none that is known."""
    head = head.removeprefix(BOM)
    return next((format for format in FORMATS if format.reader.detect(head, path)), None)


def _head(path: str) -> bytes:
    with open_log(path) as file:
        return file.read(HEAD_BYTES)


def nothing_found(paths: Sequence[str], problems: Sequence[Problem]) -> TraceError:
    """The error for paths in which no session was found: the last problem, if one was told."""
    if problems:
        last = problems[-1]
        return TraceError(last.file, last.reason, last.remedy, last.line)
    path = paths[0] if paths else "."
    return TraceError(path, "no logs in here", "'agentsim trace formats' lists what can be read")


def _ignore(problem: Problem) -> None:
    """A problem that does not matter here."""
