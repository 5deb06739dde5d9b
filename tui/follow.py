"""Follow a log that grows: look at its size a few times a second, and read it again when it has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from textual.worker import Worker, get_current_worker

from tui.trace.grown import Grown
from tui.trace.screen import TraceScreen

PAUSE = 0.2
"""Seconds between two looks. A miss shows within this, plus the time it takes to read the session."""

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
    screen.following = True
    session = screen.diagnosis.session
    return screen.run_worker(
        lambda: _watch(screen, session.files, session.id), thread=True, exclusive=True, group="follow"
    )


def _watch(screen: TraceScreen, files: tuple[str, ...], session: str) -> None:
    from tui.loading import read_session

    worker = get_current_worker()
    # Nothing is known about the state that was read before: the first look always reads.
    before: Stamp | None = None
    while not worker.is_cancelled:
        now = stamp_of(files)
        if now != before:
            before = now
            diagnosis, _ = read_session([path for path, _, _ in now], session)
            if diagnosis is not None and not worker.is_cancelled:
                screen.post_message(Grown(diagnosis))
        time.sleep(PAUSE)
