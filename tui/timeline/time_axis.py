"""The time axis as a widget: a line for each request, its running time, and the life of its entry after it."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentsim.core.dates import SECOND, has_date
from agentsim.report import figures
from agentsim.report.clean import display_width
from agentsim.tui.ink import INK_CLASSES, INK_CSS, Ink, fit, strip
from agentsim.tui.timeline.entry_lifetimes import Lifetimes
from agentsim.tui.trace.row_grid import KIND_INKS

RUNNING, ALIVE, LONG_ALIVE, AFTER, END, GONE, LATE, REFRESH = "█", "━", "═", "╌", "┤", "·", "✗", "◆"
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800)
"""Seconds between two marks of the axis."""
LEAST_STEP_CELLS = 12
GUTTER = 24
FINEST = SECOND // 10
"""Nanoseconds a cell stands for, at least."""


class TimeAxis(ScrollView, can_focus=True):
    """Draws what it is given on a scale that can be moved and zoomed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*INK_CLASSES, "axis--cursor", "axis--title"}
    DEFAULT_CSS = (
        "TimeAxis { background: $surface; color: $foreground; overflow-x: hidden; scrollbar-size-vertical: 1;\n"
        + INK_CSS
        + """
    & > .axis--title { background: $panel; color: $foreground; }
    & > .axis--cursor { background: $cursor-row; }
    }"""
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown,ctrl+f,ctrl+d", "page(1)", show=False),
        Binding("pageup,ctrl+b,ctrl+u", "page(-1)", show=False),
        Binding("home,g", "first", show=False),
        Binding("end,G", "last", show=False),
        Binding("left,h", "pan(-1)", show=False),
        Binding("right,l", "pan(1)", show=False),
    ]

    cursor: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor stands on another request."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, lifetimes: Lifetimes, names: dict[str, str], cursor: int = 0) -> None:
        super().__init__()
        self.lifetimes = lifetimes
        self.names = names
        self._left = 0
        self._cell = SECOND
        self._placed = False
        self.set_reactive(TimeAxis.cursor, cursor)

    def show(self, lifetimes: Lifetimes, names: dict[str, str], cursor: int) -> None:
        """Draw another session."""
        self.lifetimes, self.names = lifetimes, names
        self.virtual_size = Size(self.room, len(lifetimes.rows) + 1)
        self.set_reactive(TimeAxis.cursor, self.validate_cursor(cursor))
        self._keep_in_view()
        self.refresh()
        self.post_message(self.Moved(self.cursor))

    @property
    def room(self) -> int:
        """Cells of a line, without the scroll bar."""
        return self.scrollable_content_region.width

    # The scale

    @property
    def cells(self) -> int:
        """Cells of the axis itself."""
        return max(self.room - GUTTER, 1)

    def span(self) -> tuple[int, int]:
        """The times of the whole session, with the lives of its last entries."""
        starts = [row.start for row in self.lifetimes.rows if row.start is not None]
        if not starts:
            return 0, SECOND
        first, last = min(starts), max(starts)
        ends = [row.end for row in self.lifetimes.rows if row.end is not None]
        return first, max([last, *ends]) + max((last - first) // 20, SECOND)

    def fit_all(self) -> None:
        """Show the whole session."""
        first, last = self.span()
        self._left = first
        self._cell = max((last - first) // self.cells + 1, FINEST)
        self.refresh()

    def fit_around(self) -> None:
        """Show the request under the cursor with the life of the entry before it."""
        row = self.lifetimes.rows[self.cursor] if self.lifetimes.rows else None
        if row is None or row.start is None:
            self.fit_all()
            return
        before = self.lifetimes.before(self.cursor)
        life = self.lifetimes.life(before) if before is not None else None
        first = min(row.start, life.begins) if life is not None else row.start
        last = max(row.end or row.start, life.ends if life is not None else 0, row.start + 60 * SECOND)
        margin = (last - first) // 8
        self._left = first - margin
        self._cell = max((last - first + 2 * margin) // self.cells, FINEST)
        self.refresh()

    def zoom(self, into: bool) -> None:
        """Twice as fine, or half; the request under the cursor stays where it is."""
        start = self.lifetimes.rows[self.cursor].start if self.lifetimes.rows else None
        fixed = start if start is not None else self._left + self.cells * self._cell // 2
        at = (fixed - self._left) // self._cell
        first, last = self.span()
        coarsest = max((last - first) * 2 // self.cells + 1, FINEST)
        self._cell = min(max(self._cell // 2 if into else self._cell * 2, FINEST), coarsest)
        self._left = fixed - at * self._cell
        self.refresh()

    def action_pan(self, direction: int) -> None:
        """Move the axis by a quarter."""
        self._left += direction * self._cell * max(self.cells // 4, 1)
        self.refresh()

    def _at(self, time: int) -> int:
        return (time - self._left) // self._cell

    # Lines

    def render_line(self, y: int) -> Strip:
        """A line of the screen."""
        width = self.room
        if y == 0:
            return self._marks(width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self.lifetimes.rows):
            return Strip.blank(width, self.rich_style)
        base = self.rich_style
        if index == self.cursor:
            base += self.get_component_rich_style("axis--cursor", partial=True)
        return strip([*self._label(index, base), *self._draw(index, base)], width, base)

    def _ink(self, ink: Ink) -> Style:
        return self.get_component_rich_style(f"ink--{ink.value}", partial=True)

    def _label(self, index: int, base: Style) -> list[Segment]:
        row, verdict = self.lifetimes.rows[index], self.lifetimes.verdicts[index]
        lane = self.names.get(row.request.lane, row.request.lane)
        mark = "▌" if index == self.cursor else " "
        word = f"✗ {verdict.cause or 'MISS'}" if verdict.kind == "miss" else verdict.kind
        if row.request.purpose == "keep_alive":
            word = "keep-alive"
        return [
            Segment(f"{mark}{index + 1:>4} ", base),
            Segment(fit(lane, 7), base + self._ink(Ink.NAME)),
            Segment(" " + fit(word, GUTTER - 14) + " ", base + self._ink(KIND_INKS.get(verdict.kind, Ink.PLAIN))),
        ]

    def _draw(self, index: int, base: Style) -> list[Segment]:
        cells = [" "] * self.cells
        inks = [Ink.PLAIN] * self.cells

        def put(start: int, stop: int, glyph: str, ink: Ink) -> None:
            for cell in range(max(start, 0), min(stop, len(cells))):
                cells[cell], inks[cell] = glyph, ink

        here = self.lifetimes.rows[self.cursor].start if self.cursor < len(self.lifetimes.rows) else None
        if here is not None:
            put(self._at(here), self._at(here) + 1, "│", Ink.FAINT)
        row, verdict = self.lifetimes.rows[index], self.lifetimes.verdicts[index]
        if row.start is None:
            return self._segments(cells, inks, base)
        life = self.lifetimes.life(index)
        if life is not None:
            alive = ALIVE if life.ttl < 3600 else LONG_ALIVE
            begin, end = self._at(row.start), self._at(life.ends)
            after = self.lifetimes.rows[life.next].start if life.next is not None else None
            if life.fate == "used" and after is not None:
                put(begin, self._at(after), alive, Ink.READ)
                put(self._at(after), end, AFTER, Ink.FAINT)
            else:
                put(begin, end, alive, Ink.READ if life.fate == "late" else Ink.FAINT)
            put(end, end + 1, END, Ink.FAINT)
            if life.fate == "late" and after is not None:
                put(end + 1, self._at(after), GONE, Ink.BAD)
                put(self._at(after), self._at(after) + 1, LATE, Ink.BAD)
        stop = self._at(row.end) if row.end is not None else self._at(row.start)
        ink = Ink.BAD if verdict.kind == "miss" else Ink.WRITTEN
        start = self._at(row.start)
        put(start, max(stop, start) + 1, RUNNING, ink)
        if row.request.purpose == "keep_alive":
            put(start, start + 1, REFRESH, Ink.GOOD)
        elif verdict.kind == "miss":
            put(start, start + 1, LATE, Ink.BAD)
        return self._segments(cells, inks, base)

    def _segments(self, cells: list[str], inks: list[Ink], base: Style) -> list[Segment]:
        segments: list[Segment] = []
        start = 0
        for place in range(1, len(cells) + 1):
            if place == len(cells) or inks[place] is not inks[start]:
                style = base if inks[start] is Ink.PLAIN else base + self._ink(inks[start])
                segments.append(Segment("".join(cells[start:place]), style))
                start = place
        return segments

    def _marks(self, width: int) -> Strip:
        base = self.get_component_rich_style("axis--title")
        step = next((s for s in STEPS if s * SECOND >= self._cell * LEAST_STEP_CELLS), STEPS[-1]) * SECOND
        cells = [" "] * self.cells
        time = (self._left // step + 1) * step
        while self._at(time) < self.cells:
            at = self._at(time)
            days = step >= 86400 * SECOND and has_date(time)
            label = figures.day(time) if days else figures.clock(time)
            for offset, character in enumerate("╷" + label):
                if 0 <= at + offset < self.cells:
                    cells[at + offset] = character
            time += step
        title = f" 1 cell = {figures.span(self._cell)}"
        head = title + " " * max(GUTTER - display_width(title), 0)
        return strip([Segment(head[:GUTTER] + "".join(cells), base)], width, base)

    # The cursor

    def on_resize(self, event: events.Resize) -> None:
        """Place the axis once its width is known."""
        self.virtual_size = Size(self.room, len(self.lifetimes.rows) + 1)
        if not self._placed and self.room > GUTTER:
            self._placed = True
            first, last = self.span()
            if last - first > 90 * 60 * SECOND:
                self.fit_around()
            else:
                self.fit_all()
            self.post_message(self.Moved(self.cursor))
        self._keep_in_view()

    def validate_cursor(self, line: int) -> int:
        """Keep the cursor on a request."""
        return max(0, min(line, len(self.lifetimes.rows) - 1))

    def watch_cursor(self) -> None:
        """Follow the cursor in both directions."""
        self._keep_in_view()
        self.post_message(self.Moved(self.cursor))

    def _keep_in_view(self) -> None:
        page = max(self.size.height - 1, 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + page:
            self.scroll_to(y=self.cursor - page + 1, animate=False, force=True)
        start = self.lifetimes.rows[self.cursor].start if self.lifetimes.rows else None
        if self._placed and start is not None and not 0 <= self._at(start) < self.cells:
            self._left = start - self.cells * self._cell // 2
        self.refresh()

    def action_move(self, lines: int) -> None:
        """Move the cursor."""
        self.cursor += lines

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.cursor += pages * max(self.size.height - 2, 1)

    def action_first(self) -> None:
        """Go to the first request."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last request."""
        self.cursor = len(self.lifetimes.rows) - 1

    def on_click(self, event: events.Click) -> None:
        """A line takes the cursor."""
        line = self.scroll_offset.y + event.y - 1
        if event.y > 0 and line < len(self.lifetimes.rows):
            self.cursor = line

    def notify_style_update(self) -> None:
        """Draw anew in another theme."""
        super().notify_style_update()
        self.refresh()
