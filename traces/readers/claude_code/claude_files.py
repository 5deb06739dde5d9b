"""Where Claude Code keeps its logs, and which files make up one conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agentsim.core.session import Problem
from agentsim.traces.log_lines import open_log
from agentsim.traces.log_walk import find

_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_STAMP = re.compile(rb'"timestamp"\s*:\s*"([^"\\]{1,40})"')
_ENDS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_HEAD_BYTES = 16 * 1024
_LONG_HEAD_BYTES = 256 * 1024
"""Read only where the shorter beginning has no stamp: a first line may hold a long paste."""


class LogFile(NamedTuple):
    """A log file with what its beginning tells: the session it belongs to, the earliest time
    stamp in it (lines of the harness may stand out of order), the subagent whose
    lane it holds (empty for the main conversation) and the project folder it lies in."""

    path: str
    session: str
    stamp: str
    agent: str
    project: str
    size: int


def default_roots(environment: Mapping[str, str] | None = None) -> list[str]:
    """The folders where logs lie on this machine: each of ``CLAUDE_CONFIG_DIR`` (a comma list), or the usual two."""
    environment = os.environ if environment is None else environment
    configured = environment.get("CLAUDE_CONFIG_DIR", "")
    if configured.strip():
        roots = [part.strip() for part in configured.split(",") if part.strip()]
    else:
        home = environment.get("HOME") or os.path.expanduser("~")
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        roots = [os.path.join(config, "claude"), os.path.join(home, ".claude")]
    folders = []
    for root in roots:
        inside = os.path.join(root, "projects")
        folder = inside if os.path.isdir(inside) else root
        if os.path.isdir(folder) and folder not in folders:
            folders.append(folder)
    return folders


def find_logs(paths: Iterable[str], problems: list[Problem]) -> list[str]:
    """The ``.jsonl`` files, packed or not, at or under the paths, sorted. What cannot be entered is told in
    ``problems``. A file named outright is taken whatever its name."""
    return [file.path for file in find(paths, problems.append, _ENDS)]


def look_at(path: str) -> LogFile:
    """Read the beginning of a log. Raises OSError when the file cannot be read or is not a regular file."""
    with open_log(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD_BYTES)
        if len(head) == _HEAD_BYTES and _STAMP.search(head) is None:
            head += file.read(_LONG_HEAD_BYTES - _HEAD_BYTES)
    folder, name = os.path.split(path)
    stem = _stem(name)
    agent = stem.removeprefix("agent-") if stem.startswith("agent-") else ""
    session = session_in(head, path)
    stamp = min(_STAMP.findall(head), default=b"")
    while agent and os.path.basename(folder) != "" and _is_inner(os.path.basename(folder)):
        folder = os.path.dirname(folder)
    if agent and os.path.basename(folder) == session:
        folder = os.path.dirname(folder)
    return LogFile(
        path=path,
        session=session,
        stamp=stamp.decode("utf-8", "replace"),
        agent=agent,
        project=os.path.basename(folder),
        size=size,
    )


def session_in(head: bytes, path: str) -> str:
    """The session that a log belongs to, by its beginning; by its name where that tells nothing."""
    session = _SESSION_ID.search(head)
    return session[1].decode("utf-8", "replace") if session else _stem(os.path.basename(path))


def _stem(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".jsonl")


def _is_inner(name: str) -> bool:
    return name in ("subagents", "workflows") or name.startswith("wf_")


def conversations(files: Iterable[LogFile]) -> list[tuple[LogFile, ...]]:
    """Group files into conversations: the main files of a session together, each subagent's by itself.

    The result is in order of the first time stamp, so that of two conversations holding the same request the one that
    began first owns it; ties go to the shorter history, then by name. The order of the input does not matter.
    """
    groups: dict[tuple[str, str], list[LogFile]] = {}
    for file in files:
        key = (file.session, file.agent and file.path)
        groups.setdefault(key, []).append(file)
    for group in groups.values():
        group.sort(key=lambda file: (file.stamp, file.path))
    return sorted(
        (tuple(group) for group in groups.values()),
        key=lambda group: (group[0].stamp or "~", sum(file.size for file in group), group[0].path),
    )
