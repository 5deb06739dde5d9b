"""A page of a report inside the app: the same words that a command prints, laid out for this screen."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Footer, Static
from textual.worker import get_current_worker

from agentsim.core.session import Session
from agentsim.report.paper import Paper, Span, Style, span_parts
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.ink import Ink, Piece, lines
from agentsim.tui.session_name import heading_of

Writer = Callable[[Paper], None]
INKS: dict[Style, Ink] = {
    Style.PLAIN: Ink.PLAIN,
    Style.STRONG: Ink.STRONG,
    Style.FAINT: Ink.FAINT,
    Style.GOOD: Ink.GOOD,
    Style.WARN: Ink.WARN,
    Style.BAD: Ink.BAD,
    Style.NAME: Ink.NAME,
}


class InkPaper(Paper):
    """Keeps the lines of a report as pieces for a widget."""

    def __init__(self, width: int) -> None:
        super().__init__(io.StringIO(), width=width)
        self.rows: list[list[Piece]] = []

    def line(self, *spans: Span) -> None:
        """Keep one line. Its text is made safe where the widget draws it."""
        self.rows.append([(text, INKS[style]) for text, style in map(span_parts, spans)] or [""])


class ReportScreen(Page):
    """A page that a worker makes ready. Subclasses say what it is."""

    DEFAULT_CSS = "ReportScreen VerticalScroll { padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
        Binding("g", "top", show=False),
        Binding("G", "bottom", show=False),
    ]
    HELP_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (("j k", "scroll"),)
    NAME: ClassVar[str] = ""
    """What the page is called, in the heading and in the name of an export."""

    class Ready(Message):
        """The page can be written, or (``writer`` is ``None``) the reason why there is none."""

        def __init__(self, writer: Writer | None, failure: str) -> None:
            super().__init__()
            self.writer = writer
            self.failure = failure

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._writer: Writer | None = None
        self._failure = ""

    def prepare(self) -> Writer:
        """Make the page ready, in a worker. Raises ValueError or OSError with the reason why there is none."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Heading, page, footer."""
        yield Heading()
        with VerticalScroll():
            yield Static(id="report")
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Begin to make the page ready."""
        self.query_one(Heading).say([*heading_of(self.session), (f" · {self.NAME}", Ink.FAINT)])
        self.query_one(VerticalScroll).focus()
        self.draw()
        self._make_ready()

    @work(thread=True, exclusive=True, group="report")
    def _make_ready(self) -> None:
        worker = get_current_worker()
        writer, failure = None, ""
        try:
            writer = self.prepare()
        except (ValueError, OSError) as error:
            failure = str(error)
        if not worker.is_cancelled:
            self.post_message(self.Ready(writer, failure))

    def on_report_screen_ready(self, event: Ready) -> None:
        """Write it."""
        self._writer, self._failure = event.writer, event.failure
        self.draw()

    def draw(self) -> None:
        """Lay the page out for the width."""
        found = self.query("#report")
        if found:
            found.first(Static).update(lines(self._rows(self.size.width - 4)))

    def _rows(self, width: int) -> list[list[Piece]]:
        if self._writer is None:
            return [[(self._failure or "calculating …", Ink.WARN if self._failure else Ink.FAINT)]]
        paper = InkPaper(width)
        self._writer(paper)
        return paper.rows

    def on_resize(self, event: events.Resize) -> None:
        """Lay it out anew."""
        self.draw()

    def action_scroll(self, direction: int) -> None:
        """Scroll."""
        self.query_one(VerticalScroll).scroll_relative(y=direction, animate=False)

    def action_top(self) -> None:
        """To the top."""
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_bottom(self) -> None:
        """To the end."""
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def documents(self) -> dict[str, Document]:
        """The page as text."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        text = "\n".join(line.plain.rstrip() for line in lines(self._rows(100)).split("\n"))
        return f"{self.session.id[:40]}-{self.NAME.replace(' ', '-')}.md", f"```text\n{text}\n```\n"
