"""A table drawn line by line: it costs the rows that are seen, however many there are.

Rows are asked for when they come into view; nothing is made per row before. The first line keeps the titles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentsim.tui.ink import INK_CLASSES, INK_CSS, Ink, Piece, fit, parts, strip

GAP = "  "
MOST_DRAWN = 500
"""Lines that are kept as they were drawn."""


class GridColumn(NamedTuple):
    """A column of a grid. Those of the least ``weight`` give way where the screen is narrow; one of ``weight`` 9 never
    does. What room is left goes first to columns with a ``most``, up to so many cells, then to those that ``grows``."""

    key: str
    title: str
    width: int
    align: Literal["<", ">"] = ">"
    weight: int = 9
    grows: bool = False
    most: int = 0


class Rows(Protocol):
    """What a grid shows."""

    @property
    def columns(self) -> Sequence[GridColumn]:
        """The columns in order."""

    def __len__(self) -> int:
        """How many lines there are to show."""

    def cells(self, line: int) -> Sequence[Piece]:
        """The cells of a line, one for each column. A single piece is a heading over the whole width."""


class NoRows:
    """An empty table."""

    columns: tuple[GridColumn, ...] = ()

    def __len__(self) -> int:
        return 0

    def cells(self, line: int) -> Sequence[Piece]:
        """There are none."""
        raise IndexError(line)


class Grid(ScrollView, can_focus=True):
    """A table with a cursor. Tells when the cursor moved, when a line was opened and when a title was clicked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*INK_CLASSES, "grid--title", "grid--cursor", "grid--sorted"}
    DEFAULT_CSS = (
        "Grid { background: $surface; color: $foreground; overflow-x: hidden; scrollbar-size-vertical: 1;\n"
        + INK_CSS
        + """
    & > .grid--title { background: $panel; color: $foreground; text-style: bold; }
    & > .grid--sorted { background: $panel; color: $accent; text-style: bold underline; }
    & > .grid--cursor { background: $secondary 25%; }
    &:focus > .grid--cursor { background: $cursor-row; text-style: bold; }
    }"""
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "page down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "page up", show=False),
        Binding("ctrl+d", "half(1)", "half a page down", show=False),
        Binding("ctrl+u", "half(-1)", "half a page up", show=False),
        Binding("home,g", "first", "first row", show=False),
        Binding("end,G", "last", "last row", show=False),
        Binding("enter", "open", "open", show=False),
    ]

    cursor: reactive[int] = reactive(0, repaint=False)

    class Moved(Message):
        """The cursor stands on another line."""

        def __init__(self, grid: Grid, line: int) -> None:
            super().__init__()
            self.grid = grid
            self.line = line

        @property
        def control(self) -> Grid:
            """The grid it happened in."""
            return self.grid

    class Opened(Moved):
        """A line was chosen with Enter or a second click."""

    class TitleClicked(Message):
        """The title of a column was clicked."""

        def __init__(self, grid: Grid, key: str) -> None:
            super().__init__()
            self.grid = grid
            self.key = key

        @property
        def control(self) -> Grid:
            """The grid it happened in."""
            return self.grid

    def __init__(self, rows: Rows | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.rows: Rows = rows or NoRows()
        self.sorted_by: str | None = None
        self.descending = False
        self._shown: list[tuple[int, int]] = []
        self._layout: tuple[tuple[GridColumn, ...], list[tuple[int, int]]] = ((), [])
        self._drawn: dict[tuple[object, ...], Strip] = {}

    def show(self, rows: Rows, cursor: int = 0) -> None:
        """Show other rows, with the cursor on a line."""
        self.rows = rows
        self._measure()
        self.set_reactive(Grid.cursor, max(0, min(cursor, len(rows) - 1)))
        self._keep_in_view()
        self.refresh()
        self.post_message(self.Moved(self, self.cursor))

    def grown(self) -> None:
        """The rows shown have changed or become more, in place."""
        self._measure()
        self.refresh()

    @property
    def room(self) -> int:
        """Cells of a line, without the scroll bar."""
        return self.scrollable_content_region.width

    # How lines are drawn

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.room
        if y == 0:
            return self._title(width)
        line = self.scroll_offset.y + y - 1
        if line >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        cells = self.rows.cells(line)
        # Most lines look as they did when the screen was last drawn.
        key = (width, line == self.cursor, self.has_focus, *cells)
        drawn = self._drawn.get(key)
        if drawn is None:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            drawn = self._drawn[key] = self._line(cells, width, line == self.cursor)
        return drawn

    def _line(self, cells: Sequence[Piece], width: int, chosen: bool) -> Strip:
        base = self.rich_style
        if chosen:
            base += self.get_component_rich_style("grid--cursor", partial=True)
        segments = [Segment("▌" if chosen else " ", base)]
        if len(cells) == 1:
            text, ink = parts(cells[0])
            segments.append(Segment(fit(text, max(width - 1, 0)), base + self._ink(ink)))
            return strip(segments, width, base)
        for place, (index, room) in enumerate(self._shown):
            text, ink = parts(cells[index])
            if place:
                segments.append(Segment(GAP, base))
            align = self.rows.columns[index].align
            # Faint text would vanish on the cursor's ground.
            plain = ink is Ink.PLAIN or (ink is Ink.FAINT and chosen)
            segments.append(Segment(fit(text, room, align), base if plain else base + self._ink(ink)))
        return strip(segments, width, base)

    def _ink(self, ink: Ink) -> Style:
        return self.get_component_rich_style(f"ink--{ink.value}", partial=True)

    def _title(self, width: int) -> Strip:
        base = self.get_component_rich_style("grid--title")
        sorted_by = self.get_component_rich_style("grid--sorted")
        segments = [Segment(" ", base)]
        for place, (index, room) in enumerate(self._shown):
            column = self.rows.columns[index]
            if place:
                segments.append(Segment(GAP, base))
            chosen = column.key == self.sorted_by
            title = column.title + ("▾" if self.descending else "▴") if chosen else column.title
            segments.append(Segment(fit(title, room, column.align), sorted_by if chosen else base))
        return strip(segments, width, base)

    def _measure(self) -> None:
        """Choose the columns that fit, and how far the lines can be scrolled."""
        before = self._layout
        columns = self.rows.columns
        # The scroll bar takes its cell only once the size is known: count it at once.
        bar = self.styles.scrollbar_size_vertical if len(self.rows) + 1 > self.size.height else 0
        width = self.size.width - bar
        room = max(width - 1, 0)
        shown = [i for i, column in enumerate(columns) if column.width > 0]

        def taken() -> int:
            return sum(columns[i].width for i in shown) + len(GAP) * max(len(shown) - 1, 0)

        while len(shown) > 1 and taken() > room:
            weakest = min(shown, key=lambda i: (columns[i].weight, -i))
            if columns[weakest].weight >= 9:
                break
            shown.remove(weakest)
        left = max(room - taken(), 0)
        widths = {i: columns[i].width for i in shown}
        for i in shown:
            more = max(min(columns[i].most - widths[i], left), 0)
            widths[i] += more
            left -= more
        growing = [i for i in shown if columns[i].grows]
        for i in growing:
            widths[i] += left // len(growing)
        self._shown = [(i, widths[i]) for i in shown]
        self._layout = (tuple(columns), self._shown)
        if self._layout != before:
            self._drawn.clear()
        self.virtual_size = Size(width, len(self.rows) + 1)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the columns anew."""
        self._measure()
        self._keep_in_view()

    def notify_style_update(self) -> None:
        """Draw anew in another theme."""
        self._drawn.clear()
        super().notify_style_update()
        self.refresh()

    # The cursor

    def validate_cursor(self, line: int) -> int:
        """Keep the cursor on a line that is there."""
        return max(0, min(line, len(self.rows) - 1))

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw the two lines anew and tell."""
        self._draw_line(before)
        self._draw_line(after)
        self._keep_in_view()
        self.post_message(self.Moved(self, after))

    def _draw_line(self, line: int) -> None:
        y = line - self.scroll_offset.y + 1
        if 1 <= y < self.size.height:
            self.refresh(Region(0, y, self.room, 1))

    def _keep_in_view(self) -> None:
        page = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + page:
            self.scroll_to(y=self.cursor - page + 1, animate=False, force=True)

    def action_move(self, lines: int) -> None:
        """Move the cursor by some lines."""
        self.cursor += lines

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.cursor += pages * max(self.size.height - 2, 1)

    def action_half(self, halves: int) -> None:
        """Move the cursor by halves of a page."""
        self.cursor += halves * max((self.size.height - 1) // 2, 1)

    def action_first(self) -> None:
        """Go to the first line."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last line."""
        self.cursor = len(self.rows) - 1

    def action_open(self) -> None:
        """Open the line under the cursor."""
        if len(self.rows):
            self.post_message(self.Opened(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """A title sorts, a line takes the cursor, and a second click opens it."""
        if event.y == 0:
            key = self._column_at(event.x)
            if key is not None:
                self.post_message(self.TitleClicked(self, key))
            return
        line = self.scroll_offset.y + event.y - 1
        if line >= len(self.rows):
            return
        if line == self.cursor and event.chain > 1:
            self.action_open()
        else:
            self.cursor = line

    def _column_at(self, x: int) -> str | None:
        left = 1
        for index, room in self._shown:
            if left <= x < left + room:
                return self.rows.columns[index].key
            left += room + len(GAP)
        return None
