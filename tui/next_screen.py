"""What the next act would cost: the page of ``agentsim next``, while the clock runs."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.binding import Binding, BindingType

from agentsim.outlook.cache_state import CacheState, state_of
from agentsim.outlook.next_acts import last_reply, price_acts
from agentsim.report.paper import Paper, Style
from agentsim.report.screen.next_page import write_next
from agentsim.tui.report_screen import ReportScreen, Writer

TICK = 1.0
"""Seconds between two looks at the clock."""


class NextScreen(ReportScreen):
    """Prices of what could be done next, now or right after the last row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "clock", "Now, or after the last row"),
        Binding("y", "rules", "Rules", show=True),
    ]
    HELP_TITLE = "What the next act costs"
    HELP_KEYS = (
        ("r", "prices as of now, or as right after the last row"),
        ("y", "show or hide the rules under each price, with sources"),
        *ReportScreen.HELP_KEYS,
    )
    NAME = "next"
    now = True
    why = False

    def opened(self) -> None:
        """Begin, and look at the clock again and again."""
        super().opened()
        self.set_interval(TICK, self._tick)

    def _tick(self) -> None:
        if self.now and self._writer is not None:
            self.draw()

    def prepare(self) -> Writer:
        """Find the state of the cache. Raises NothingToPrice, a ValueError."""
        state = state_of(self.session)
        return lambda paper: self._write(paper, state)

    def _write(self, paper: Paper, state: CacheState) -> None:
        after = last_reply(state)
        told = "as of now" if self.now else "as right after the last row"
        paper.line((f"Prices {told} (r changes that)", Style.FAINT))
        write_next(paper, price_acts(state, time.time_ns() if self.now else after), why=self.why)

    def action_clock(self) -> None:
        """Price as of now, or as right after the last row."""
        self.now = not self.now
        self.draw()

    def action_rules(self) -> None:
        """Show or hide the rules."""
        self.why = not self.why
        self.draw()
