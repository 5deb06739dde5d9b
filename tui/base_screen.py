"""What all screens of the app have in common: a heading, help, export, the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from agentsim.tui.ink import Piece, lines

if TYPE_CHECKING:
    from agentsim.tui.tui_app import AgentsimApp

Document = Callable[[], tuple[str, str]]
"""Makes an export: the file name's last part (``rows.md``) and the text."""


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
    def program(self) -> AgentsimApp:
        """The app, by its own type."""
        return cast("AgentsimApp", self.app)

    def action_back(self) -> None:
        """Leave this screen; the last one ends the app."""
        self.program.leave(self)

    def action_help(self) -> None:
        """Open the help page."""
        from agentsim.tui.help_screen import HelpScreen

        self.app.push_screen(HelpScreen(self.HELP_TITLE, self.HELP_KEYS))

    def action_export(self) -> None:
        """Ask for a format and write the file."""
        from agentsim.tui.screen_export import ExportScreen

        self.app.push_screen(ExportScreen(self))

    def documents(self) -> dict[str, Document]:
        """What can be exported besides a picture, by format."""
        return {}
