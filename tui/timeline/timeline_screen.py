"""The screen of the time axis."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Static

from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.report.verdict_words import headline, lane_names
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.ink import Ink, Piece, lines
from agentsim.tui.session_name import called
from agentsim.tui.timeline.entry_lifetimes import Lifetimes
from agentsim.tui.timeline.time_axis import AFTER, ALIVE, END, LATE, LONG_ALIVE, REFRESH, RUNNING, TimeAxis


class TimelineScreen(Page):
    """Requests and lives of entries on a time axis; as recorded, or under the policies chosen in the what-if panel."""

    CSS = """
    TimelineScreen TimeAxis { height: 1fr; }
    TimelineScreen #says { height: auto; min-height: 3; padding: 0 1; background: $surface; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(True)", "Zoom in", key_display="+"),
        Binding("minus", "zoom(False)", "Zoom out", key_display="-"),
        Binding("0", "all", "All"),
        Binding("a", "around", "Around"),
        Binding("right_square_bracket", "miss(1)", "Next miss", key_display="]"),
        Binding("left_square_bracket", "miss(-1)", "Previous miss", show=False, key_display="["),
        Binding("r", "revised", "Revised"),
        Binding("enter", "back", "Row", show=False),
    ]
    HELP_TITLE = "Timeline"
    HELP_KEYS = (
        ("← →  h l", "move along the axis"),
        ("+  -", "zoom in and out"),
        ("0", "the whole session"),
        ("a", "around the row: the entry before it, and how late it came"),
        ("]  [", "next and previous miss"),
        ("r", "as recorded, or revised by the what-if panel"),
        ("Enter", "back to the row"),
    )

    def __init__(self, diagnosis: Diagnosis, index: int, revised: Diagnosis | None = None) -> None:
        super().__init__()
        self.recorded = diagnosis
        self.revised = revised
        self.shown = diagnosis
        self._start = index

    def compose(self) -> ComposeResult:
        """Heading, axis, a sentence about the row, footer."""
        yield Heading()
        yield TimeAxis(*self._drawn(self.recorded), cursor=self._start)
        yield Static(id="says")
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Focus the axis."""
        self.axis.focus()
        self._head()

    @staticmethod
    def _drawn(diagnosis: Diagnosis) -> tuple[Lifetimes, dict[str, str]]:
        lifetimes = Lifetimes(diagnosis.session, diagnosis.rows, diagnosis.verdicts)
        return lifetimes, lane_names(diagnosis.session.lanes)

    @property
    def axis(self) -> TimeAxis:
        """The widget that draws."""
        return self.query_one(TimeAxis)

    def _head(self) -> None:
        what: Piece = ("as recorded", Ink.FAINT)
        if self.shown is self.revised:
            what = ("revised by the what-if panel", Ink.WARN)
        name = called(self.shown.session)
        legend: list[Piece] = [
            (RUNNING, Ink.WRITTEN),
            (" running  ", Ink.FAINT),
            (ALIVE, Ink.READ),
            (" entry alive (", Ink.FAINT),
            (LONG_ALIVE, Ink.READ),
            (" 1 h)  ", Ink.FAINT),
            (AFTER + END, Ink.FAINT),
            (" if not read again  ", Ink.FAINT),
            (LATE, Ink.BAD),
            (" miss  ", Ink.FAINT),
            (REFRESH, Ink.GOOD),
            (" keep-alive", Ink.FAINT),
        ]
        self.query_one(Heading).say([("timeline · ", Ink.FAINT), what, (" · ", Ink.FAINT), (name, Ink.STRONG)], legend)

    def on_time_axis_moved(self, event: TimeAxis.Moved) -> None:
        """Say what the axis shows of the row."""
        if event.index >= len(self.shown.rows):
            return
        verdict = self.shown.verdicts[event.index]
        rows: list[list[Piece]] = [[self.axis.lifetimes.sentence(event.index)]]
        if verdict.kind == "miss":
            lost = f", {figures.plural(verdict.lost, 'token')}, {figures.money(verdict.lost_cost)}"
            rows.append([(f"✗ {verdict.cause}: {headline(verdict)}", Ink.BAD), lost])
        self.query_one("#says", Static).update(lines(rows))
        if self.shown is self.recorded:
            self.program.memory.stood_at(self.recorded.session.id, event.index)

    def action_zoom(self, into: bool) -> None:
        """Finer or coarser."""
        self.axis.zoom(into)

    def action_all(self) -> None:
        """The whole session."""
        self.axis.fit_all()

    def action_around(self) -> None:
        """Around the row."""
        self.axis.fit_around()

    def action_miss(self, step: int) -> None:
        """Go to the next or the previous miss."""
        count = len(self.shown.verdicts)
        for distance in range(1, count + 1):
            index = (self.axis.cursor + step * distance) % count
            if self.shown.verdicts[index].kind == "miss":
                self.axis.cursor = index
                return
        self.notify("no miss here", markup=False, timeout=4)

    def action_revised(self) -> None:
        """Change between what was recorded and what would have been."""
        if self.revised is None:
            self.notify("choose policies in the what-if panel first (w)", markup=False, timeout=3)
            return
        request = self.shown.rows[self.axis.cursor].request.id if self.shown.rows else ""
        self.shown = self.revised if self.shown is self.recorded else self.recorded
        index = next((i for i, row in enumerate(self.shown.rows) if row.request.id == request), self.axis.cursor)
        self.axis.show(*self._drawn(self.shown), index)
        self._head()

    def action_back(self) -> None:
        """Back to the rows, at the request of the cursor."""
        from agentsim.tui.trace.trace_screen import TraceScreen

        index = self.axis.cursor
        super().action_back()
        below = self.app.screen
        if isinstance(below, TraceScreen) and self.shown is self.recorded:
            below.select(index)

    def documents(self) -> dict[str, Document]:
        """The drawing as text."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        axis = self.axis
        drawn = [axis.render_line(y).text.rstrip() for y in range(min(axis.size.height, len(self.shown.rows) + 1))]
        name = self.shown.session.id
        return f"{name[:40]}-timeline.md", "```text\n" + "\n".join(drawn) + "\n```\n"
