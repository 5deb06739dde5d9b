"""Which files of an input are logs of Claude Code, and which are other formats'.

Logs of Claude Code are told by words near their beginning, which costs nothing beside looking at them at all. Only
other files are shown to every reader there is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from agentsim.core.session import Problem
from agentsim.traces.log_walk import LOG_ENDS, FoundFile, find
from agentsim.traces.readers.claude_code.claude_files import LogFile, default_roots, find_logs, look_at

MARKS = (b'"isSidechain"', b'"leafUuid"', b'"file-history-snapshot"', b'"queue-operation"')
_NEAR = 4096

Groups = dict[str, list[str]]
"""Files by the module of their format."""


def sort_out(paths: Sequence[str] | None, problems: list[Problem]) -> tuple[list[LogFile], Groups]:
    """The logs of Claude Code at and under these paths (without paths: all on this machine), and the files of other
    formats. What cannot be read, or is of no known format, is told in ``problems``."""
    files: list[LogFile] = []
    if paths is None:
        for path in find_logs(default_roots(), problems):
            _look_at(path, files, problems)
        return files, {}
    others: list[FoundFile] = []
    for found in find(paths, problems.append):
        if found.named or found.path.endswith(LOG_ENDS):
            try:
                head = _head(found.path)
            except OSError:
                head = b""  # looking at it will tell why
            if not head or any(mark in head for mark in MARKS):
                _look_at(found.path, files, problems)
                continue
        others.append(found)
    return files, _by_format(others, files, problems) if others else {}


def _look_at(path: str, files: list[LogFile], problems: list[Problem]) -> None:
    try:
        files.append(look_at(path))
    except OSError as error:
        reason = error.strerror or str(error)
        problems.append(Problem(file=path, line=0, reason=reason, remedy="check that it is a readable file"))


def _head(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        return os.read(descriptor, _NEAR)
    finally:
        os.close(descriptor)


def _by_format(others: Sequence[FoundFile], files: list[LogFile], problems: list[Problem]) -> Groups:
    from agentsim.traces.format_registry import told_format

    groups: Groups = {}
    for found in others:
        format = told_format(found, problems)
        if format is None:
            continue
        if format.module == "agentsim.traces.readers.claude_code":
            _look_at(found.path, files, problems)
        else:
            groups.setdefault(format.module, []).append(found.path)
    return groups
