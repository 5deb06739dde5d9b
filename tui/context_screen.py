"""What filled the context of a session, and what carrying it cost: the page of ``agentsim context``."""

from __future__ import annotations

from agentsim.context import account
from agentsim.report.screen.context_page import write_context
from agentsim.traces.words.growths import growths_of
from agentsim.tui.report_screen import ReportScreen, Writer

MOST_PIECES = 20


class ContextScreen(ReportScreen):
    """The account of one session's contexts. Words of the log stay hidden."""

    HELP_TITLE = "What filled the context"
    NAME = "context"

    def prepare(self) -> Writer:
        """Lay out each prompt. Raises OSError when a file cannot be read again."""
        found = account(self.session, growths_of(self.session))
        return lambda paper: write_context(paper, found, top=MOST_PIECES)
