"""A progress bar for long work: on stderr, only where a person watches, and gone when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from shutil import get_terminal_size
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TextIO

from agentsim.core.counts import plural
from agentsim.report.clean import clean
from agentsim.report.figures import span
from agentsim.report.paper import wants_colour

CELLS = 30
PATIENCE_SECONDS = 0.4
"""Work that ends sooner shows no bar."""
STEP_SECONDS = 0.05
TICK_SECONDS = 0.5
LEAST_SHARE = 0.05
LEAST_SECONDS = 2.0
"""From here on what is done tells how long the rest will take."""
_TO_START = "\r"
_ERASE = "\r\x1b[K"


class ProgressBar:
    """Call it with (done, total) as often as you like; it draws when a person can see a difference.

    ``unit`` is the word for one of what is counted, where counts say something to a person. With ``ticks`` it also
    draws by itself, from the beginning, while the work has nothing to say; that takes a thread, and is not for work
    that forks.
    """

    def __init__(self, label: str, stream: TextIO | None = None, *, unit: str = "", ticks: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._label = clean(label)
        self._unit = unit
        self._begun = self._drawn = time.monotonic()
        self._done = self._total = 0
        self._visible = False
        self._watched = self._stream.isatty()
        self._colour = wants_colour(self._stream)
        self._lock = Lock()
        self._ended = Event()
        self._ticker = Thread(target=self._tick, daemon=True) if ticks and self._watched else None

    def __enter__(self) -> ProgressBar:
        if self._ticker is not None:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._lock:
            if self._visible:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._visible = False

    def __call__(self, done: int, total: int) -> None:
        """Note that ``done`` of ``total`` (bytes, files: any unit) is through."""
        if not self._watched or total <= 0:
            return
        with self._lock:
            self._done, self._total = min(max(done, 0), total), total
        self._draw()

    def _tick(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._begun < PATIENCE_SECONDS or now - self._drawn < STEP_SECONDS or self._ended.is_set():
                return
            self._drawn, self._visible = now, True
            share = self._done / self._total if self._total else 0.0
            full = round(share * CELLS)
            bar = "█" * full + "░" * (CELLS - full)
            room = _columns() - len(self._label) - CELLS - 9
            if self._colour:
                bar = f"\x1b[36m{bar}\x1b[0m"
            after = "".join(part for part in self._parts(share, now - self._begun, room))
            self._stream.write(f"{_TO_START}{self._label} {bar} {share * 100:3.0f} %{after}\x1b[K")
            self._stream.flush()

    def _parts(self, share: float, seconds: float, room: int) -> Iterator[str]:
        """Counts and the time left, as far as they fit on the line."""
        parts = []
        if self._unit and self._total:
            parts.append(f" · {self._done:,} of {plural(self._total, self._unit)}")
        if share >= LEAST_SHARE and seconds >= LEAST_SECONDS:
            parts.append(f" · {span(round(seconds * (1 - share) / share * 10**9))} left")
        for part in parts:
            if len(part) <= room:
                room -= len(part)
                yield part


def _columns() -> int:
    return get_terminal_size((80, 24)).columns
