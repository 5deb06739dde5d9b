"""All formats that can be read, told apart by content.

A reader is a module with ``NAME``, ``DESCRIPTION``, ``VERIFIED``, ``detect(head, path)`` and ``read_sessions(paths,
problems)``. It is imported when it is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from glob import glob
from importlib import import_module
from typing import IO, Protocol, cast

import msgspec

from agentsim.core.session import Problem, Session
from agentsim.traces.hostile_records import ReadProblems, TraceError
from agentsim.traces.log_lines import BOM, open_log
from agentsim.traces.log_walk import LOG_ENDS, QUIET_ENDS, QUIET_NAMES, FoundFile, find

HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to tell its format, where its first record is no longer."""

FIRST_RECORD_BYTES = 16 * 2**20
"""How much is looked at where it is: what tells a format may stand behind a long prompt."""


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
    LogFormat("agentsim.traces.readers.inspect_ai"),
    LogFormat("agentsim.traces.readers.codex"),
    LogFormat("agentsim.traces.readers.dsh"),
    LogFormat("agentsim.traces.readers.pi"),
    LogFormat("agentsim.traces.readers.opencode"),
    LogFormat("agentsim.traces.readers.crush"),
    LogFormat("agentsim.traces.readers.gemini"),
    LogFormat("agentsim.traces.readers.gemini_stream"),
    LogFormat("agentsim.traces.readers.qwen"),
    LogFormat("agentsim.traces.readers.kimi"),
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
    LogFormat("agentsim.traces.readers.usage_lines"),
)
"""In the order in which they are tried: the most particular one first."""

GROUP = "agentsim.formats"
"""Under which other packages name readers of theirs as entry points: modules with what :class:`Reader` asks for."""


@cache
def brought_formats() -> tuple[tuple[LogFormat, ...], tuple[Problem, ...]]:
    """The formats of other packages, tried behind those of this one; and what is wrong with those that do not load.

    Looking for them takes longer than reading a small log, so that it is done only where none of these fits.
    """
    found: list[LogFormat] = []
    problems: list[Problem] = []
    if not _is_named_somewhere(GROUP):
        return (), ()
    from importlib.metadata import entry_points  # it takes as long as all of a short command

    points = set(entry_points(group=GROUP))
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        format = LogFormat(point.module)
        try:
            complete = all(hasattr(format.reader, part) for part in _PARTS)
            reason = "it lacks a part that every reader has"
        except Exception as error:  # whatever somebody else's package does when it is imported
            complete, reason = False, f"it cannot be imported ({type(error).__name__})"
        if complete:
            found.append(format)
        else:
            words = f"the format {point.name!r} of another package is left out: {reason}"
            remedy = "update or remove the package; docs/formats.md says what a reader needs"
            problems.append(Problem(file=point.value, line=0, reason=words, remedy=remedy))
    return tuple(found), tuple(problems)


def _is_named_somewhere(group: str) -> bool:
    """Whether any installed package has entry points under this name, as far as their files say."""
    for folder in dict.fromkeys(sys.path):
        for ends in ("*.dist-info", "*.egg-info"):
            for file in glob(os.path.join(folder or ".", ends, "entry_points.txt")):
                try:
                    with open(file, "rb") as stream:
                        if f"[{group}]".encode() in stream.read(2**20):
                            return True
                except OSError:
                    continue
    return False


_PARTS = ("NAME", "DESCRIPTION", "VERIFIED", "detect", "read_sessions")


def in_order(modules: Iterable[str]) -> list[LogFormat]:
    """The formats of these modules, in the order in which their sessions are read."""
    wanted = set(modules)
    known = [format for format in FORMATS if format.module in wanted]
    return known + [LogFormat(module) for module in sorted(wanted.difference(format.module for format in FORMATS))]


def all_formats() -> tuple[LogFormat, ...]:
    """Those that come with the program, and those of other packages."""
    return (*FORMATS, *brought_formats()[0])


def format_named(name: str) -> LogFormat | None:
    """The format with this name, as sessions carry it; ``None`` for one that is not known."""
    words = name.replace("-", "_")
    likely = sorted(all_formats(), key=lambda one: not one.module.endswith(f".{words}"))
    return next((one for one in likely if one.name == name), None)


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
        told: list[Problem] = []
        format = told_format(file, told)
        if format is None and file.named:
            raise TraceError(file.path, told[-1].reason, told[-1].remedy)
        problems += [problem for problem in told if problem not in problems]
        if format is not None:
            by_format.setdefault(format, []).append(file.path)
    groups = {format: by_format[format] for format in in_order(format.module for format in by_format)}
    return groups, frozenset(file.path for file in found if file.named)


def told_format(file: FoundFile, problems: list[Problem]) -> LogFormat | None:
    """The format of a file that was found; where it has none, that is told in ``problems``, unless its name is one that
    many other files have as well."""
    remedy = "'agentsim trace formats' lists what can be read"
    try:
        head = _head(file.path)
    except OSError as error:
        reason, remedy = error.strerror or str(error), "check that it is a file you may read"
    else:
        format = format_of(head, file.path)
        if format is not None:
            return format
        problems += brought_formats()[1]
        reason = "of no known format; expected JSON lines of an agent's log" if head.strip() else "an empty file"
    quiet = file.path.endswith(QUIET_ENDS) and not file.path.endswith(LOG_ENDS)
    if not file.named and (quiet or os.path.basename(file.path) in QUIET_NAMES):
        return None
    problems.append(Problem(file=file.path, line=0, reason=reason, remedy=remedy))
    return None


def format_of(head: bytes, path: str) -> LogFormat | None:
    """The format of a file at ``path`` that begins with ``head``; ``None`` when it has none that is known."""
    head = head.removeprefix(BOM)
    found = next((format for format in FORMATS if format.reader.detect(head, path)), None)
    if found is not None or not head.strip():
        return found
    return next((format for format in brought_formats()[0] if _detects(format, head, path)), None)


def _detects(format: LogFormat, head: bytes, path: str) -> bool:
    try:
        return bool(format.reader.detect(head, path))
    except Exception:  # somebody else's code: it does not know its own format then
        return False


def _head(path: str) -> bytes:
    with open_log(path) as file:
        return head_of(file)


def head_of(file: IO[bytes]) -> bytes:
    """The beginning of a file that is to be told by it: at least its first record, as far as that is bounded."""
    head = _read(file, HEAD_BYTES)
    first, newline, _ = head.partition(b"\n")
    if len(head) < HEAD_BYTES or (newline and first.strip() not in (b"{", b"[", BOM + b"{", BOM + b"[")):
        return head
    return head + _read(file, FIRST_RECORD_BYTES - HEAD_BYTES, until_newline=not newline)


def _read(file: IO[bytes], size: int, *, until_newline: bool = False) -> bytes:
    """So many bytes of a file, fewer at its end or where a line ends: one call may return less."""
    parts: list[bytes] = []
    while size > 0 and (data := file.read(min(size, 2**20))):
        parts.append(data)
        size -= len(data)
        if until_newline and b"\n" in data:
            break
    return b"".join(parts)


def nothing_found(paths: Sequence[str], problems: Sequence[Problem]) -> TraceError:
    """The error for paths in which no session was found: the last problem, if one was told."""
    if problems:
        last = problems[-1]
        return TraceError(last.file, last.reason, last.remedy, last.line)
    path = paths[0] if paths else "."
    return TraceError(path, "no logs in here", "'agentsim trace formats' lists what can be read")


def _ignore(problem: Problem) -> None:
    """A problem that does not matter here."""
