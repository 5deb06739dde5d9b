"""What is shown while a session is read."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import Footer, Static

from agentsim.tui.base_screen import Heading, Page
from agentsim.tui.ink import Ink, content


class WaitingScreen(Page):
    """Says what is being read."""

    CSS = "WaitingScreen #what { padding: 1 2; }"
    HELP_TITLE = "Reading"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self._paths = paths

    def compose(self) -> ComposeResult:
        """The paths."""
        yield Heading()
        more = f" and {len(self._paths) - 1} more" if len(self._paths) > 1 else ""
        yield Static(content(("reading ", Ink.FAINT), self._paths[0] if self._paths else "", more, " …"), id="what")
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """The name of the program."""
        self.query_one(Heading).say([("agentsim", Ink.STRONG)])
