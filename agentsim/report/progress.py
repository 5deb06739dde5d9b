"""A progress bar for long work: on stderr, only where a person watches, and gone when the work is done."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from agentsim.report.clean import clean
from agentsim.report.paper import wants_colour

CELLS = 30
PATIENCE_SECONDS = 0.4
"""Work that ends sooner shows no bar."""
STEP_SECONDS = 0.05
_TO_START = "\r"
_ERASE = "\r\x1b[K"


class ProgressBar:
    """Call it with (done, total) as often as you like; it draws when a person can see a difference."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._label = clean(label)
        self._begun = self._drawn = time.monotonic()
        self._visible = False
        self._watched = self._stream.isatty()
        self._colour = wants_colour(self._stream)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._visible:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._visible = False

    def __call__(self, done: int, total: int) -> None:
        """Note that ``done`` of ``total`` (bytes, files: any unit) is through."""
        if not self._watched or total <= 0:
            return
        now = time.monotonic()
        if now - self._begun < PATIENCE_SECONDS or now - self._drawn < STEP_SECONDS:
            return
        self._drawn, self._visible = now, True
        share = min(max(done, 0) / total, 1)
        full = round(share * CELLS)
        bar = "█" * full + "░" * (CELLS - full)
        if self._colour:
            bar = f"\x1b[36m{bar}\x1b[0m"
        self._stream.write(f"{_TO_START}{self._label} {bar} {share * 100:3.0f} %")
        self._stream.flush()
