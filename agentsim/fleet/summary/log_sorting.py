"""Which files of an input are logs of Claude Code, and which are other formats'.

Logs of Claude Code are told by words near their beginning, which costs nothing beside looking at them at all. Only
other files are shown to every reader there is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from agentsim.core.session import Problem
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
    others: list[str] = []
    folders: set[str] = set()
    logs = find_logs(paths, problems)
    for path in logs:
        try:
            head = _head(path)
        except OSError:
            head = b""  # looking at it will tell why
        if not head or any(mark in head for mark in MARKS):
            _look_at(path, files, problems)
            folders.add(os.path.dirname(path))
        else:
            others.append(path)
    others += _beside(paths, set(logs), folders)
    return files, _by_format(others, frozenset(paths), files, problems) if others else {}


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


def _beside(paths: Sequence[str], logs: set[str], folders: set[str]) -> list[str]:
    """Files of other names in folders that hold no log of Claude Code: beside its logs lie things of its own."""
    if all(not os.path.isdir(path) for path in paths):
        return []
    from agentsim.traces.log_walk import find

    told: list[Problem] = []  # what cannot be entered was told when logs were looked for
    found = [file.path for file in find([path for path in paths if os.path.isdir(path)], told.append)]
    return [path for path in found if path not in logs and not _is_under(os.path.dirname(path), folders)]


def _is_under(folder: str, folders: set[str]) -> bool:
    while folder not in folders:
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def _by_format(others: Sequence[str], named: frozenset[str], files: list[LogFile], problems: list[Problem]) -> Groups:
    from agentsim.traces.format_registry import format_of, head_of
    from agentsim.traces.log_lines import open_log
    from agentsim.traces.log_walk import LOG_ENDS

    groups: Groups = {}
    for path in sorted(others):
        try:
            with open_log(path) as file:
                format = format_of(head_of(file), path)
        except OSError as error:
            reason = error.strerror or str(error)
            problems.append(Problem(file=path, line=0, reason=reason, remedy="check that it is a readable file"))
            continue
        if format is None:
            if path in named or path.endswith(LOG_ENDS):
                remedy = "'agentsim trace formats' lists what can be read"
                problems.append(Problem(file=path, line=0, reason="of no known format", remedy=remedy))
        elif format.module == "agentsim.traces.readers.claude_code":
            _look_at(path, files, problems)
        else:
            groups.setdefault(format.module, []).append(path)
    return groups
