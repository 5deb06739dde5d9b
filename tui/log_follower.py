"""Follow a log that grows: look at its size a few times a second, and read what was appended when it has changed.

Logs of Claude Code, Codex and Pi are read on from where they ended; of other formats the whole log is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from textual.worker import Worker, get_current_worker

from agentsim.core.session import Session
from agentsim.diagnose import Diagnosis
from agentsim.tui.trace.session_grown import Grown, Vanished
from agentsim.tui.trace.trace_screen import TraceScreen

PAUSE = 0.1
"""Seconds between two looks. A miss shows within this, plus the time it takes to read the session."""

READ_ON = {
    "claude-code": "agentsim.traces.readers.claude_code.claude_growing:GrowingClaudeLogs",
    "codex": "agentsim.traces.readers.codex.codex_rollout:GrowingRollouts",
    "pi": "agentsim.traces.readers.pi:GrowingPiLogs",
}
"""Formats of logs that are only appended to, and the class that reads one on."""

Stamp = tuple[tuple[str, int, int], ...]


def stamp_of(files: Iterable[str]) -> Stamp:
    """Sizes and times of a session's files, and of the files of subagents beside them."""
    found: dict[str, tuple[str, int, int]] = {}
    for file in files:
        for path in (file, *_beside(file)):
            try:
                status = os.stat(path)
            except OSError:
                continue
            found[path] = (path, status.st_size, status.st_mtime_ns)
    return tuple(found[path] for path in sorted(found))


def _beside(file: str) -> list[str]:
    """Logs of subagents, which a running session may begin at any time."""
    folder = os.path.join(file.removesuffix(".jsonl"), "subagents")
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return []


def follow(screen: TraceScreen) -> Worker[None]:
    """Keep a screen's session up to date until the screen is closed."""
    screen.begin_to_follow()
    session = screen.diagnosis.session
    return screen.run_worker(
        lambda: _watch(screen, session.files, session.id), thread=True, exclusive=True, group="follow"
    )


class Following:
    """A session that is read again and again, from its files and those of subagents that were begun."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._format = ""
        self._growing: object = None

    def read(self, paths: Sequence[str]) -> Diagnosis | None:
        """The session as it is now, judged; ``None`` where it cannot be read."""
        from agentsim.tui.session_loading import judge, largest, read_session

        try:
            sessions = self._read_on(paths)
        except OSError:
            sessions = None
        if sessions is None:
            return read_session(paths, self._session)[0]
        found = largest(sessions, self._session)
        return None if found is None else judge(found)

    def _read_on(self, paths: Sequence[str]) -> list[Session] | None:
        """What the files hold, where only what was appended need be read for it. Raises OSError."""
        from agentsim.core.garbage_collection import without_collection
        from agentsim.traces.format_registry import detect

        formats = [detect(path) for path in paths]
        format = formats[0] if formats else None
        if format is None or format.name not in READ_ON or any(other != format for other in formats):
            return None
        if format.name != self._format:
            module, _, kind = READ_ON[format.name].partition(":")
            self._format, self._growing = format.name, getattr(import_module(module), kind)()
        reader: Any = format.reader
        with without_collection():
            return list(reader.read_sessions(paths, None, self._growing))


def _watch(screen: TraceScreen, files: tuple[str, ...], session: str) -> None:
    following = Following(session)
    worker = get_current_worker()
    # Nothing is known about the state that was read before: the first look always reads.
    before: Stamp | None = None
    while not worker.is_cancelled:
        now = stamp_of(files)
        if not now and before:
            before = now
            screen.post_message(Vanished())
        elif now != before:
            before = now
            diagnosis = following.read([path for path, _, _ in now])
            if diagnosis is not None and not worker.is_cancelled:
                screen.post_message(Grown(diagnosis))
        time.sleep(PAUSE)
