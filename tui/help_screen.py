"""The help page: what each key does on the screen it is asked from, and what the glyphs mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from agentsim.tui.ink import Ink, Piece, wrapped

Keys = Sequence[tuple[str, str]]

MOVING: Keys = (
    ("↑ ↓  k j", "one row up or down"),
    ("PgUp PgDn", "one page (Ctrl+B, Ctrl+F)"),
    ("Ctrl+U Ctrl+D", "half a page"),
    ("g  G", "first and last row (Home, End)"),
    ("Tab", "to the next part of the screen"),
)
EVERYWHERE: Keys = (
    ("?  F1", "this help"),
    ("Ctrl+P", "command palette: every action by name"),
    ("e", "export: Markdown, JSON, or a picture (SVG)"),
    ("Ctrl+T", "next theme: dark, light, colour-blind safe"),
    ("Esc  q", "back"),
    ("Ctrl+Q", "quit"),
)
GLYPHS: tuple[tuple[str, Ink, str], ...] = (
    ("█", Ink.READ, "tokens read from the cache"),
    ("▒", Ink.WRITTEN, "tokens written to the cache"),
    ("░", Ink.FRESH, "tokens sent fresh"),
    ("▲", Ink.STRONG, "a cache marker and the lifetime it asks for"),
    ("✗", Ink.BAD, "a miss; in a bar, the place where the reuse ended"),
    ("═ ≠", Ink.READ, "the earlier prompt: repeated, and not repeated"),
    ("~", Ink.FAINT, "an estimated size"),
    ("–", Ink.FAINT, "not known: the log does not tell"),
)


class HelpScreen(ModalScreen[None]):
    """Keys and glyphs."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 76; max-width: 96%; height: auto; max-height: 94%;
        background: $panel; padding: 0 1; scrollbar-size-vertical: 1; border: round $primary;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "app.pop_screen", "close"),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    def __init__(self, title: str, keys: Keys) -> None:
        super().__init__()
        self._title = title
        self._keys = keys

    def compose(self) -> ComposeResult:
        """One page of text."""
        with VerticalScroll():
            yield Static(id="page")

    def on_resize(self) -> None:
        """Wrap to the width."""
        page = self.query_one("#page", Static)
        page.update(wrapped(self._rows(), max(page.size.width, 30), 18))

    def action_scroll(self, direction: int) -> None:
        """Scroll the page."""
        self.query_one(VerticalScroll).scroll_relative(y=direction, animate=False)

    def _rows(self) -> list[list[Piece]]:
        rows: list[list[Piece]] = []
        for title, keys in ((self._title, self._keys), ("Moving", MOVING), ("Everywhere", EVERYWHERE)):
            rows.append([(title, Ink.STRONG)])
            rows += [[(f"  {key:<16}", Ink.NAME), what] for key, what in keys]
            rows.append([""])
        rows.append([("What is drawn", Ink.STRONG)])
        rows += [[(f"  {glyph:<16}", ink), what] for glyph, ink, what in GLYPHS]
        return rows
