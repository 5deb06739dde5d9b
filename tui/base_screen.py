"""What all screens of the app have in common: a heading, help, export, the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, cast

from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from agentsim.core.session import Problem
from agentsim.diagnose import Diagnosis
from agentsim.tui.ink import Piece, lines
from agentsim.tui.remembered_state import RememberedState

Document = Callable[[], tuple[str, str]]
"""Makes an export: the file name's last part (``rows.md``) and the text."""


class ScreenHost(Protocol):
    """What the screens ask of the app: :class:`agentsim.tui.tui_app.AgentsimApp` does it."""

    memory: RememberedState

    def leave(self, page: Page) -> None:
        """Leave a screen; the last one ends the app."""

    def show_help(self, page: Page) -> None:
        """Open the help page of a screen."""

    def ask_export(self, page: Page) -> None:
        """Ask for a format, and export what a screen shows."""

    def open(self, diagnosis: Diagnosis, *, instead: bool = False) -> None:
        """Show a session."""

    def open_timeline(self, diagnosis: Diagnosis, row: int, revised: Diagnosis | None) -> None:
        """Show a session on the time axis."""

    def choose_other(self, diagnosis: Diagnosis) -> None:
        """Choose a session to compare with this one."""

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """List what could not be read, and why."""

    def notify_failure(self, failure: str) -> None:
        """Say that something could not be read."""


class Heading(Static):
    """The line on top: where one is."""

    DEFAULT_CSS = """
    Heading {
        background: $panel; color: $foreground; height: auto; max-height: 3; padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def __init__(self) -> None:
        super().__init__()

    def say(self, *rows: Sequence[Piece]) -> None:
        """Show one or more lines."""
        self.update(lines(rows))


class Page(Screen[None]):
    """A screen with help, export and a way back. Subclasses name their keys for the help page."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as the base class declares it
        (0, "-narrow"),
        (120, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", show=True, key_display="q"),
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("e", "export", "Export", show=False),
    ]
    HELP_TITLE: ClassVar[str] = ""
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()

    def on_mount(self) -> None:
        """Set up the screen, unless it was left before it was drawn: its widgets are gone then."""
        if self.query(Heading):
            self.opened()

    def opened(self) -> None:
        """Set up the widgets."""

    @property
    def program(self) -> ScreenHost:
        """The app, as far as screens know it."""
        return cast(ScreenHost, self.app)

    def action_back(self) -> None:
        """Leave this screen; the last one ends the app."""
        self.program.leave(self)

    def action_help(self) -> None:
        """Open the help page."""
        self.program.show_help(self)

    def action_export(self) -> None:
        """Ask for a format and write the file."""
        self.program.ask_export(self)

    def documents(self) -> dict[str, Document]:
        """What can be exported besides a picture, by format."""
        return {}
