"""The list of sessions as a grid shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agentsim.report import figures
from agentsim.tui.grid import GridColumn
from agentsim.tui.ink import Ink, Piece
from agentsim.tui.picker.gather_sessions import PickerLine

SORTS = ("last", "name", "requests", "hit", "cost", "lost", "misses")


class SessionRows:
    """Lines by key, filtered and sorted."""

    columns = (
        GridColumn("mark", " ", 1, "<", 9),
        GridColumn("last", "last", 16, "<", 8),
        GridColumn("name", "project", 16, "<", 9, True),
        GridColumn("format", "format", 12, "<", 3),
        GridColumn("requests", "requests", 9, ">", 6),
        GridColumn("hit", "hit %", 7, ">", 7),
        GridColumn("cost", "cost", 11, ">", 9),
        GridColumn("lost", "lost", 11, ">", 9),
        GridColumn("misses", "misses", 7, ">", 5),
        GridColumn("session", "session", 12, "<", 2, most=36),
    )

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], PickerLine] = {}
        self.shown: list[PickerLine] = []
        self.sort = "last"
        self.descending = True
        self.wanted = ""
        self.marked: list[tuple[str, str]] = []

    def put(self, lines: Iterable[PickerLine]) -> None:
        """Add lines, or replace those of the same sessions."""
        for line in lines:
            self._lines[line.key] = line
        self.arrange()

    @property
    def all(self) -> Sequence[PickerLine]:
        """Every line, whatever is filtered."""
        return list(self._lines.values())

    def arrange(self) -> None:
        """Filter and sort anew."""
        needle = self.wanted.casefold()
        chosen = [
            line
            for line in self._lines.values()
            if not needle or any(needle in text.casefold() for text in (line.name, line.session, line.format))
        ]
        known = [line for line in chosen if _KEYS[self.sort](line) is not None]
        unknown = [line for line in chosen if _KEYS[self.sort](line) is None]
        known.sort(key=lambda line: line.key)
        known.sort(key=lambda line: _KEYS[self.sort](line), reverse=self.descending)  # type: ignore[arg-type,return-value]
        self.shown = known + sorted(unknown, key=lambda line: line.key)

    def __len__(self) -> int:
        return len(self.shown)

    def cells(self, line: int) -> Sequence[Piece]:
        """The cells of a session."""
        it = self.shown[line]
        when = figures.moment(it.last)
        when = when[:16] if figures.day(it.last) != figures.UNKNOWN else when  # a date needs no seconds
        return [
            ("●", Ink.WARN) if it.key in self.marked else " ",
            when,
            (it.name or it.session, Ink.NAME),
            (it.format, Ink.FAINT),
            figures.count(it.requests),
            figures.per_cent(it.read, it.total) if it.total else figures.UNKNOWN,
            figures.money(it.cost, 2) if it.cost is not None else figures.UNKNOWN,
            (figures.money(it.lost, 2), Ink.BAD) if it.lost else ("–", Ink.FAINT),
            (f"✗ {it.misses:,}", Ink.BAD) if it.misses else ("0", Ink.FAINT),
            (it.session, Ink.FAINT),
        ]

    def line_of(self, key: tuple[str, str] | None) -> int:
        """Where a session stands."""
        return next((place for place, line in enumerate(self.shown) if line.key == key), 0)


def _hit(line: PickerLine) -> int | None:
    return line.read * 10**9 // line.total if line.total else None


_KEYS: dict[str, Callable[[PickerLine], int | str | None]] = {
    "last": lambda line: line.last,
    "name": lambda line: line.name or line.session,
    "requests": lambda line: line.requests,
    "hit": _hit,
    "cost": lambda line: line.cost,
    "lost": lambda line: line.lost,
    "misses": lambda line: line.misses,
}
