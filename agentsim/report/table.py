"""Tables for terminals of any width: columns that matter less give way first, then one column shrinks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from agentsim.report.clean import ELLIPSIS, clean, display_width
from agentsim.report.paper import Paper, Span, Style, span_parts

GAP = "  "


class TableColumn(NamedTuple):
    """A column. ``weight`` says how long it stays when room is short (0 goes first); ``shrinks_to`` is the fewest
    cells it may be cut to, where it may be cut at all, and ``cut`` at which end."""

    title: str
    align: Literal["<", ">"] = ">"
    weight: int = 9
    shrinks_to: int | None = None
    cut: Literal["start", "end"] = "end"


class TableLayout:
    """Which columns of a table are shown, and how wide."""

    def __init__(
        self, columns: Sequence[TableColumn], rows: Iterable[Sequence[Span]], width: int, indent: int = 0
    ) -> None:
        natural = [display_width(column.title) for column in columns]
        for row in rows:
            for index, cell in enumerate(row):
                natural[index] = max(natural[index], display_width(clean(span_parts(cell)[0])))
        self._columns = columns
        self.indent = indent
        self.shown = list(range(len(columns)))
        room = width - indent
        least = [
            cells if column.shrinks_to is None else min(cells, max(column.shrinks_to, display_width(column.title)))
            for column, cells in zip(columns, natural, strict=True)
        ]
        while len(self.shown) > 1 and self._sum(least) > room:
            weakest = min(self.shown, key=lambda index: (columns[index].weight, -index))
            self.shown.remove(weakest)
        self.widths = list(natural)
        surplus = self._sum(natural) - room
        for index in reversed(self.shown):
            if surplus > 0 and columns[index].shrinks_to is not None:
                cut = min(surplus, natural[index] - least[index])
                self.widths[index] -= cut
                surplus -= cut

    @property
    def width(self) -> int:
        """Cells of a whole line, without the indent."""
        return self._sum(self.widths)

    def head(self, paper: Paper) -> None:
        """Write the titles and a rule under them."""
        self.row(paper, [(column.title, Style.STRONG) for column in self._columns])
        paper.line(" " * self.indent, ("─" * min(self.width, paper.width - self.indent), Style.FAINT))

    def row(self, paper: Paper, cells: Sequence[Span]) -> None:
        """Write one row."""
        line: list[Span] = [" " * self.indent]
        for place, index in enumerate(self.shown):
            text, style = span_parts(cells[index])
            text = _fit(text, self.widths[index], self._columns[index].cut)
            padding = " " * (self.widths[index] - display_width(text))
            if place:
                line.append(GAP)
            line += [padding, (text, style)] if self._columns[index].align == ">" else [(text, style), padding]
        paper.line(*line)

    def _sum(self, widths: Sequence[int]) -> int:
        return sum(widths[index] for index in self.shown) + len(GAP) * (len(self.shown) - 1)


def _fit(text: str, width: int, cut: Literal["start", "end"]) -> str:
    if cut == "end":
        return clean(text, width)
    text = clean(text)
    if display_width(text) <= width:
        return text
    first = 0
    while display_width(text[first:]) > width - 1:
        first += 1
    return ELLIPSIS + text[first:]


def write_table(paper: Paper, columns: Sequence[TableColumn], rows: Sequence[Sequence[Span]], indent: int = 0) -> None:
    """Write a whole table."""
    layout = TableLayout(columns, rows, paper.width, indent)
    layout.head(paper)
    for row in rows:
        layout.row(paper, row)
