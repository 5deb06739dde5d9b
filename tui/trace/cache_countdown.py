"""The line under a session that is followed: how long its cache stays warm, and what the next request costs."""

from __future__ import annotations

import time

from textual import work
from textual.message import Message
from textual.widgets import Static
from textual.worker import get_current_worker

from agentsim.core.dates import SECOND
from agentsim.core.session import Session
from agentsim.outlook.cache_state import CacheState, NothingToPrice, state_of
from agentsim.outlook.next_acts import Outlook, price_acts
from agentsim.report import figures
from agentsim.tui.ink import Ink, Piece, wrapped

TICK = 1.0
"""Seconds between two looks at the clock."""
SOON = 60 * SECOND
"""What is left when the line begins to warn."""
ACTS = (("go-on", "go on now"), ("wait-until-cold", "when cold"), ("compact-now", "compact now"))


class CacheCountdown(Static):
    """Counts down while a session is followed."""

    DEFAULT_CSS = "CacheCountdown { height: auto; max-height: 3; padding: 0 1; background: $panel; }"

    class Known(Message):
        """The state after the last row, or why there is none to price."""

        def __init__(self, state: CacheState | None, failure: str) -> None:
            super().__init__()
            self.state = state
            self.failure = failure

    def __init__(self) -> None:
        super().__init__()
        self._state: CacheState | None = None
        self._failure = ""

    def on_mount(self) -> None:
        """Look at the clock again and again."""
        self.set_interval(TICK, self.draw)

    @work(thread=True, exclusive=True, group="countdown")
    def take(self, session: Session) -> None:
        """Find the state of a session's cache, in a worker."""
        worker = get_current_worker()
        state, failure = None, ""
        try:
            state = state_of(session)
        except NothingToPrice as error:
            failure = str(error)
        if not worker.is_cancelled:
            self.post_message(self.Known(state, failure))

    def on_cache_countdown_known(self, event: Known) -> None:
        """Draw it."""
        event.stop()
        self._state, self._failure = event.state, event.failure
        self.draw()

    def draw(self) -> None:
        """Draw the line for this moment."""
        if self._state is not None:
            line = countdown(price_acts(self._state, time.time_ns()))
        else:
            line = [(f"nothing can be priced: {self._failure}" if self._failure else "calculating …", Ink.FAINT)]
        self.update(wrapped([line], max(self.size.width - 2, 20)))


def countdown(outlook: Outlook) -> list[Piece]:
    """How long the cache stays warm, and what acts would cost, in one line."""
    found, ends = outlook.warmth, outlook.ends
    line: list[Piece]
    if found == "warm" and ends.promised is not None:
        left = ends.promised - outlook.now
        line = [("● warm for ", Ink.FAINT), (clock(left), Ink.WARN if left < SOON else Ink.GOOD)]
    elif found == "cold" and ends.latest is not None:
        line = [(f"✗ cold since {figures.span(outlook.now - ends.latest)}", Ink.BAD)]
    elif found == "empty":
        line = [("nothing is cached", Ink.WARN)]
    else:
        line = [("? perhaps warm", Ink.WARN)]
    for name, title in ACTS:
        act = outlook.act(name)
        if act is None or act.cost is None or (name == "wait-until-cold" and found == "cold"):
            continue
        sure = "" if act.cost.exact else "~"
        line += [(f" · {title} ", Ink.FAINT), (f"{sure}{figures.money(act.cost.expected)}", Ink.STRONG)]
    return [*line, (" · a: all acts", Ink.FAINT)]


def clock(nanoseconds: int) -> str:
    """A length of time as it counts down: ``4:12``, ``1:02:03``."""
    minutes, seconds = divmod(max(nanoseconds, 0) // SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
