"""The pane under the rows: the story of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from agentsim.tui.ink import Piece, wrapped
from agentsim.tui.trace.row_story import LABEL, Story


class Details(VerticalScroll, can_focus=True):
    """Shows what a :class:`Story` tells about a row, wrapped to its width."""

    DEFAULT_CSS = """
    Details { background: $surface; border-top: solid $panel; padding: 0 1; scrollbar-size-vertical: 1; }
    Details:focus { border-top: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("enter", "screen.back", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._story: Story | None = None
        self._index: int | None = None
        self._note: Sequence[Piece] = ()
        self.content = False
        self.saving: Sequence[Piece] | None = None

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static()

    def show(self, story: Story, index: int, saving: Sequence[Piece] | None = None) -> None:
        """Tell about a row."""
        if index != self._index:
            self.scroll_home(animate=False)
        self._story, self._index, self.saving = story, index, saving
        self._tell()

    def note(self, *pieces: Piece) -> None:
        """Say something that is not about a row."""
        self._index, self._note = None, pieces
        self._tell()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew."""
        self._tell()

    def _tell(self) -> None:
        width = max(self.size.width - 3, 10)
        if self._story is None or self._index is None:
            self.query_one(Static).update(wrapped([list(self._note)], width))
            return
        lines = self._story.tell(self._index, width, content=self.content, saving=self.saving)
        self.query_one(Static).update(wrapped(lines, width, LABEL))

    def toggle_content(self) -> bool:
        """Show or hide the words around a difference; whether they are shown now."""
        self.content = not self.content
        self._tell()
        return self.content
