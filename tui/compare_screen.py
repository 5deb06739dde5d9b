"""Two sessions beside each other: their sums, then request by request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Static

from agentsim.budget.recording_changes import Changes, RequestPair, Side, compare
from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.report.verdict_words import where
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.grid import Grid, GridColumn
from agentsim.tui.ink import Ink, Piece, fit, lines
from agentsim.tui.session_name import heading_of
from agentsim.tui.trace.row_grid import what_happened

_WIDTH = 10


class PairRows:
    """The aligned requests of two sessions."""

    columns = (
        GridColumn("number", "#", 4),
        GridColumn("lane", "lane", 10, "<", 6),
        GridColumn("old_written", "A written", _WIDTH, ">", 7),
        GridColumn("new_written", "B written", _WIDTH, ">", 7),
        GridColumn("old_read", "A read", _WIDTH, ">", 8),
        GridColumn("new_read", "B read", _WIDTH, ">", 8),
        GridColumn("old_cost", "A cost", 9, ">", 5),
        GridColumn("new_cost", "B cost", 9, ">", 5),
        GridColumn("change", "B − A", 10, ">", 9),
        GridColumn("old_happened", "A", 12, "<", 9, True),
        GridColumn("new_happened", "B", 12, "<", 9, True),
    )

    def __init__(self, changes: Changes) -> None:
        self._all = changes.pairs
        self.shown: Sequence[RequestPair] = changes.pairs
        self.only_changed = False

    def toggle(self) -> None:
        """Show only pairs that differ, or all."""
        self.only_changed = not self.only_changed
        self.shown = [pair for pair in self._all if _differs(pair)] if self.only_changed else self._all

    def __len__(self) -> int:
        return len(self.shown)

    def cells(self, line: int) -> Sequence[Piece]:
        """The cells of a pair."""
        pair = self.shown[line]
        old, new = pair.old, pair.new
        return [
            str((new or old or _nobody()).number),
            (pair.lane, Ink.NAME),
            *_both(old, new, "write"),
            *_both(old, new, "read"),
            figures.row_money(old.row.cost) if old else "",
            figures.row_money(new.row.cost) if new else "",
            signed(pair.cost),
            _happened(old),
            _happened(new),
        ]


def _nobody() -> Side:
    raise AssertionError("a pair has at least one side")


def _both(old: Side | None, new: Side | None, name: str) -> list[Piece]:
    before = getattr(old.row.usage, name) if old else None
    after = getattr(new.row.usage, name) if new else None
    ink = Ink.FAINT if before == after else Ink.STRONG
    return [(figures.count(before) if old else "", ink), (figures.count(after) if new else "", ink)]


def _happened(side: Side | None) -> Piece:
    return ("not there", Ink.FAINT) if side is None else what_happened(side.row.request, side.verdict)


def _differs(pair: RequestPair) -> bool:
    if pair.old is None or pair.new is None:
        return True
    before, after = pair.old, pair.new
    return before.row.usage != after.row.usage or before.verdict.kind != after.verdict.kind


def signed(amount: int | None) -> Piece:
    """A difference in money: what B costs more (+) or less (−)."""
    if amount is None:
        return (figures.UNKNOWN, Ink.FAINT)
    if amount == 0:
        return ("=", Ink.FAINT)
    return (("+" if amount > 0 else "−") + figures.row_money(abs(amount)), Ink.WARN if amount > 0 else Ink.GOOD)


def sums(old: Diagnosis, new: Diagnosis) -> list[list[Piece]]:
    """The totals of two sessions as a small table."""
    one, two = old.totals, new.totals
    rows: list[tuple[str, str, str, Piece]] = [
        ("requests", figures.count(one.requests), figures.count(two.requests), _more(one.requests, two.requests)),
        ("written", figures.count(one.written), figures.count(two.written), _more(one.written, two.written)),
        ("read", figures.count(one.read), figures.count(two.read), _more(one.read, two.read)),
        ("hit %", figures.per_cent(*one.hit_rate), figures.per_cent(*two.hit_rate), ""),
        ("misses", figures.count(one.misses), figures.count(two.misses), _more(one.misses, two.misses)),
        ("lost", *_amounts(one.known_lost_cost, two.known_lost_cost)),
        ("cost", *_amounts(one.known_cost, two.known_cost)),
    ]
    return [
        [(fit(name, 10), Ink.FAINT), f"{before:>14}", f"{after:>14}  ", difference]
        for name, before, after, difference in rows
    ]


def _amounts(one: int | None, two: int | None) -> tuple[str, str, Piece]:
    return figures.money(one), figures.money(two), signed(None if one is None or two is None else two - one)


def _more(before: int, after: int) -> Piece:
    return ("=", Ink.FAINT) if before == after else f"{after - before:+,}".replace("-", "−")


def _name(side: str, diagnosis: Diagnosis) -> list[Piece]:
    session = diagnosis.session
    return [(f"{side} ", Ink.STRONG), *heading_of(session)]


class CompareScreen(Page):
    """Sessions A and B."""

    CSS = """
    CompareScreen #sums { height: auto; padding: 0 1; background: $surface; }
    CompareScreen Grid { height: 1fr; }
    CompareScreen #says { height: auto; min-height: 2; padding: 0 1; background: $surface; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "changed", "Changed only"),
        Binding("x", "swap", "Swap"),
    ]
    HELP_TITLE = "Two sessions"
    HELP_KEYS = (("m", "only requests that differ, or all"), ("x", "swap A and B"))

    def __init__(self, old: Diagnosis, new: Diagnosis) -> None:
        super().__init__()
        self._take(old, new)

    def _take(self, old: Diagnosis, new: Diagnosis) -> None:
        self.old, self.new = old, new
        self.changes = compare(old, new)
        self.rows = PairRows(self.changes)

    def compose(self) -> ComposeResult:
        """Heading, sums, pairs, where the prompts part, footer."""
        yield Heading()
        yield Static(id="sums")
        yield Grid(id="pairs")
        yield Static(id="says")
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Show both."""
        self._show()
        self.query_one(Grid).focus()

    def _show(self) -> None:
        self.query_one(Heading).say(*(_name(*side) for side in (("A", self.old), ("B", self.new))))
        title: list[Piece] = [(f"{'':10}{'A':>14}{'B':>14}  B − A", Ink.STRONG)]
        self.query_one("#sums", Static).update(lines([title, *sums(self.old, self.new)]))
        self.query_one(Grid).show(self.rows)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Say where the two prompts part."""
        rows: list[list[Piece]] = [[("requests are aligned in their order within each lane", Ink.FAINT)]]
        if event.line < len(self.rows):
            pair = self.rows.shown[event.line]
            if pair.place is not None:
                rows.append([("from here on B's prompt differs: ", Ink.STRONG), where(pair.place)])
            elif pair.settings:
                rows.append([("settings that differ: ", Ink.STRONG), ", ".join(pair.settings)])
        if not self.changes.comparable:
            rows.append([("the fingerprints have different keys: contents cannot be compared", Ink.WARN)])
        self.query_one("#says", Static).update(lines(rows))

    def action_changed(self) -> None:
        """Only pairs that differ, or all."""
        self.rows.toggle()
        self.query_one(Grid).show(self.rows)

    def action_swap(self) -> None:
        """A becomes B."""
        self._take(self.new, self.old)
        self._show()

    def documents(self) -> dict[str, Document]:
        """The pairs as a table."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        from agentsim.tui.screen_export import markdown

        title = f"{self.old.session.id} and {self.new.session.id}"
        notes = [
            "".join(part if isinstance(part, str) else part[0] for part in row) for row in sums(self.old, self.new)
        ]
        return "compare.md", markdown(self.rows, title, notes)
