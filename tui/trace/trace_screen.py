"""The rows of a session with the story of the selected one under them."""

from __future__ import annotations

from array import array
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Footer
from textual.worker import get_current_worker

from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.report.clean import clean
from agentsim.report.verdict_words import headline
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.grid import Grid
from agentsim.tui.ink import Ink, Piece, parts, safe
from agentsim.tui.row_group import RowGroup
from agentsim.tui.search_bar import SearchBar
from agentsim.tui.session_name import heading_of
from agentsim.tui.trace.cache_countdown import CacheCountdown
from agentsim.tui.trace.details_pane import Details
from agentsim.tui.trace.row_grid import TraceRows
from agentsim.tui.trace.row_order import SORTS, UNSORTED, previous_in_lane
from agentsim.tui.trace.row_story import Story
from agentsim.tui.trace.session_grown import Grown, Vanished
from agentsim.tui.whatif.revised_session import Workbench, judged
from agentsim.tui.whatif.whatif_panel import WhatIfPanel
from agentsim.whatif.fix_savings import FIXES, Saving, in_words

SETTLE = 0.03
"""Seconds that the cursor must rest before a row's story is told, so that holding a key down stays smooth."""


class TraceScreen(Page):
    """One session, row by row."""

    CSS = """
    TraceScreen #body { height: 1fr; layout: vertical; }
    TraceScreen #left { height: 1fr; }
    TraceScreen Grid { height: 1fr; min-height: 5; }
    TraceScreen Details { height: 46%; }
    TraceScreen.-high Details { height: 50%; }
    TraceScreen.-story Grid#rows { display: none; }
    TraceScreen.-story Details { height: 1fr; }
    TraceScreen CacheCountdown { display: none; }
    TraceScreen.-following CacheCountdown { display: block; }
    TraceScreen WhatIfPanel { display: none; }
    TraceScreen.-whatif WhatIfPanel { display: block; }
    TraceScreen.-narrow WhatIfPanel { height: 60%; border-left: none; border-top: solid $primary; }
    TraceScreen.-narrow.-whatif Details { display: none; }
    TraceScreen.-wide #body { layout: horizontal; }
    TraceScreen.-wide #left { width: 1fr; }
    TraceScreen.-wide WhatIfPanel { width: 46; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "miss(1)", "Next miss", key_display="]"),
        Binding("left_square_bracket", "miss(-1)", "Previous miss", show=False, key_display="["),
        Binding("m", "only_misses", "Misses"),
        Binding("slash", "search", "Search", key_display="/", priority=True),
        Binding("n", "again(1)", "next match", show=False),
        Binding("N", "again(-1)", "match before", show=False),
        Binding("f", "filter", "Filter", show=False, priority=True),
        Binding("t", "lanes", "Lanes"),
        Binding("s", "sort", "Sort by the next column", show=False),
        Binding("S", "reverse", "Reverse the order", show=False),
        Binding("w", "whatif", "What if"),
        Binding("v", "timeline", "Timeline"),
        Binding("b", "totals", "Totals"),
        Binding("a", "acts", "Next"),
        Binding("i", "context", "Context", show=False),
        Binding("p", "problems", "Lines not read, and why", show=False),
        Binding("c", "compare", "Compare with another session", show=False),
        Binding("x", "content", "Show or hide words", show=False),
        Binding("y", "copy", "Copy the row", show=False),
        Binding("space", "fold", "fold a lane", show=False),
    ]
    HELP_TITLE = "Rows of a session"
    HELP_KEYS = (
        ("]  [", "next and previous miss"),
        ("m", "only misses, or all rows"),
        ("/  n  N", "search; next and previous match"),
        ("f", "filter: only rows that hold a text (empty: all)"),
        ("t", "lanes: merged by time, or as a tree (Space folds one)"),
        ("s  S", "sort by the next column; reverse (or click a title)"),
        ("w", "what if: policies, and what they would change"),
        ("v", "timeline: requests and lifetimes of entries"),
        ("b", "totals: causes, models, lanes"),
        ("a", "what the next act would cost"),
        ("i", "context: what filled it, and what carrying it cost"),
        ("p", "what of the log could not be read, and why"),
        ("c", "compare with another session"),
        ("x", "show or hide the words around a difference (private)"),
        ("y", "copy the row"),
        ("Enter", "the story of the row on the whole screen, and back"),
    )

    class Completed(Message):
        """The look-up of gaps is done."""

        def __init__(self, before: array[int]) -> None:
            super().__init__()
            self.before = before

    class Told(Message):
        """A story is complete."""

        def __init__(self, story: Story) -> None:
            super().__init__()
            self.story = story

    class Saved(Message):
        """The fix of a row was simulated."""

        def __init__(self, request: str, saving: Saving | None) -> None:
            super().__init__()
            self.request = request
            self.saving = saving

    def __init__(self, diagnosis: Diagnosis, *, at_end: bool = False) -> None:
        super().__init__()
        self.diagnosis = diagnosis
        self.rows = TraceRows(diagnosis)
        self.story = Story(diagnosis)
        self.workbench = Workbench(diagnosis)
        self._savings: dict[str, Saving | None] = {}
        self.vanished = False
        self._at_end = at_end
        self._wanted = ""
        self._origin = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Heading, rows, story, search bar, footer."""
        yield Heading()
        with Container(id="body"), Vertical(id="left"):
            yield Grid(id="rows")
            yield Details(id="details")
        yield CacheCountdown()
        yield SearchBar()
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Show the rows as they were left."""
        state = self.program.memory
        self.rows.lanes = "tree" if state.lanes == "tree" and len(self.diagnosis.session.lanes) > 1 else "time"
        if self.rows.lanes == "tree":
            self.rows.arrange()
        last = max(len(self.diagnosis.rows) - 1, 0)
        start = last if self._at_end else min(state.rows.get(self.diagnosis.session.id, 0), last)
        self.grid.show(self.rows, self.rows.nearest(start))
        self.grid.focus()
        self._head()
        if not self.rows.is_complete:
            self._complete()
        self._complete_story()

    @property
    def following(self) -> bool:
        """Whether the session is read again whenever it grows."""
        return self.has_class("-following")

    def begin_to_follow(self) -> None:
        """The session is followed from now on: its cache counts down."""
        self.add_class("-following")
        # The first look of the follower reads the session anew, and says so; until then the state is that of this one.
        self.call_after_refresh(self._count_down)

    def _count_down(self) -> None:
        if self.following:
            for countdown in self.query(CacheCountdown):
                countdown.take(self.diagnosis.session)

    @property
    def grid(self) -> Grid:
        """The table of rows."""
        return self.query_one("#rows", Grid)

    @property
    def details(self) -> Details:
        """The story of the selected row."""
        return self.query_one(Details)

    @property
    def selected(self) -> int | None:
        """The row under the cursor."""
        return self.rows.index_at(self.grid.cursor)

    def select(self, index: int) -> None:
        """Put the cursor on a row, or near it where it is filtered out."""
        self.grid.cursor = self.rows.nearest(index)

    # What is told

    def _head(self) -> None:
        session, totals = self.diagnosis.session, self.diagnosis.totals
        read, whole = totals.hit_rate
        shown = len(self.rows)
        start = self._first_start()
        date = "" if figures.day(start) == figures.UNKNOWN else f" · {figures.day(start)}"
        first: list[Piece] = [
            *heading_of(session),
            (f" · {session.format}{date}", Ink.FAINT),
        ]
        if self.vanished:
            first.append(("  ● its file is gone", Ink.WARN))
        elif self.following:
            first.append(("  ● following", Ink.GOOD))
        lost = Ink.BAD if totals.misses else Ink.PLAIN
        # Without a price the number of misses says all that is known.
        cost = "" if totals.known_lost_cost is None else f", {figures.money(totals.lost_cost)} lost"
        second: list[Piece] = [
            f"{figures.plural(totals.requests, 'request')} · hit rate {figures.per_cent(read, whole)} % · ",
            f"{figures.money(totals.known_cost)} · ",
            (f"✗ {figures.plural(totals.misses, 'miss', 'misses')}{cost}", lost),
        ]
        chosen = []
        if self.rows.only_misses:
            chosen.append("misses only")
        if self.rows.wanted:
            chosen.append(f"filter “{safe(self.rows.wanted, 30)}”")
        if self.rows.group is not None:
            chosen.append(safe(self.rows.group.name, 40))
        if self.rows.lanes == "tree":
            chosen.append("by lane")
        if self.rows.sort != UNSORTED:
            chosen.append(f"by {self.rows.sort}")
        if chosen:
            second.append((f" · {', '.join(chosen)} ({shown:,})", Ink.WARN))
        self.query_one(Heading).say(first, second)

    def _first_start(self) -> int | None:
        return next((row.start for row in self.diagnosis.rows if row.start is not None), None)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Tell the story of the row once the cursor rests."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SETTLE, self._tell)

    def _tell(self) -> None:
        self._timer = None
        index = self.selected
        if index is None:
            lane = self.rows.lane_at(self.grid.cursor)
            if lane is None:
                self.details.note(("No rows here.", Ink.FAINT))
            else:
                self.details.note((lane.title, Ink.STRONG), (f" · {lane.purpose} · Space folds it", Ink.FAINT))
            return
        self.program.memory.stood_at(self.diagnosis.session.id, index)
        self.details.show(self.story, index, self._saving(index))

    # Going about

    def _rearrange(self) -> None:
        keep = self.selected
        self.rows.arrange()
        self.grid.sorted_by = None if self.rows.sort == UNSORTED else self.rows.sort
        self.grid.descending = self.rows.descending
        self.grid.show(self.rows, self.rows.nearest(keep) if keep is not None else 0)
        self._head()

    def action_miss(self, step: int) -> None:
        """Go to the next or the previous miss."""
        self._go(self.rows.find(self.grid.cursor, step, self.rows.is_miss), "no miss here")

    def _go(self, line: int | None, otherwise: str) -> None:
        if line is None:
            self.notify(otherwise, markup=False, timeout=4)
        else:
            self.grid.cursor = line

    def action_only_misses(self) -> None:
        """Show only misses, or all rows."""
        self.rows.only_misses = not self.rows.only_misses
        self._rearrange()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No second search while one types. (Its keys come first, so that keys typed ahead are part of the text.) The
        key of the help page is text then too."""
        return action not in ("search", "filter", "help") or not any(bar.display for bar in self.query(SearchBar))

    def action_search(self) -> None:
        """Open the search bar."""
        self._origin = self.grid.cursor
        self.query_one(SearchBar).ask("search", "search: id, lane, model, cause, reason, row number")

    def action_filter(self) -> None:
        """Open the bar for a filter."""
        self.query_one(SearchBar).ask("filter", "only rows that hold (empty: all)", self.rows.wanted)

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        """Go to the first match from where one was while one types; a filter waits until the text is done."""
        if event.purpose == "search" and event.text:
            line = self._numbered(event.text)
            if line is None:
                line = self.rows.find(self._origin - 1, 1, self.rows.matcher(event.text))
            self.grid.cursor = self._origin if line is None else line

    def _numbered(self, text: str) -> int | None:
        """The line of the row with this number, if the text is one."""
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            return None
        index = int(text) - 1
        return self.rows.line_of(index) if 0 <= index < len(self.diagnosis.rows) else None

    def on_search_bar_done(self, event: SearchBar.Done) -> None:
        """Search, or filter, or a policy with its parameters."""
        if event.purpose != "policy":
            self.grid.focus()
        if event.purpose == "policy":
            panel = self.query_one(WhatIfPanel)
            panel.grid.focus()
            panel.take(event.text)
        elif event.purpose == "filter":
            self.rows.wanted = event.text
            self._rearrange()
        elif event.text:
            self._wanted = event.text
            line = self._numbered(event.text)
            if line is not None:
                self.grid.cursor = line
            elif not self._matches_here():
                self.action_again(1)

    def _matches_here(self) -> bool:
        index = self.selected
        return index is not None and self.rows.matcher(self._wanted)(index)

    def on_search_bar_cancelled(self, event: SearchBar.Cancelled) -> None:
        """Back to where one was."""
        if event.purpose == "search":
            self.grid.cursor = self._origin
        if event.purpose == "policy":
            self.query_one(WhatIfPanel).grid.focus()
        else:
            self.grid.focus()

    def action_again(self, step: int) -> None:
        """Go to the next or the previous match of the last search."""
        if self._wanted:
            test = self.rows.matcher(self._wanted)
            self._go(self.rows.find(self.grid.cursor, step, test), f"nothing holds “{safe(self._wanted, 40)}”")

    def action_lanes(self) -> None:
        """Merge the lanes by time, or show them as a tree."""
        self.rows.lanes = "tree" if self.rows.lanes == "time" else "time"
        self.program.memory.lanes = self.rows.lanes
        self._rearrange()

    def action_fold(self) -> None:
        """Fold or unfold the lane of the line."""
        lane = self.rows.lane_at(self.grid.cursor)
        if lane is None:
            return
        self.rows.folded ^= {lane.id}
        line = self.grid.cursor
        self.rows.arrange()
        self.grid.show(self.rows, line)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort(SORTS[(SORTS.index(self.rows.sort) + 1) % len(SORTS)])

    def _sort(self, key: str) -> None:
        self.rows.sort = key
        # Large amounts are what one looks for; names and times read from the top.
        self.rows.descending = key not in ("number", "start", "happened")
        self._rearrange()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.rows.descending = not self.rows.descending
        self._rearrange()

    def on_grid_title_clicked(self, event: Grid.TitleClicked) -> None:
        """Sort by the column whose title was clicked; again reverses."""
        if event.key == self.rows.sort:
            self.action_reverse()
        elif event.key in SORTS:
            self._sort(event.key)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Fold a lane, or give the story the whole screen."""
        if self.rows.lane_at(event.line) is not None:
            self.action_fold()
        elif self.selected is not None:
            self.add_class("-story")
            self.details.focus()

    def action_back(self) -> None:
        """Back from the story to the rows, then from the rows."""
        if self.has_class("-story"):
            self.remove_class("-story")
            self.grid.focus()
        elif self.has_class("-whatif"):
            self._close_panel()
        elif self.rows.is_filtered:
            self.rows.wanted, self.rows.only_misses, self.rows.group = "", False, None
            self._rearrange()
        else:
            super().action_back()

    def action_content(self) -> None:
        """Show or hide the words around a difference."""
        shown = self.details.toggle_content()
        self.notify("words are shown: they may be private" if shown else "words are hidden", markup=False, timeout=4)

    def action_copy(self) -> None:
        """Copy the row, as text in columns."""
        index = self.selected
        if index is None:
            return
        titles = [column.title for column in self.rows.columns]
        texts = [clean(parts(cell)[0]) for cell in self.rows.cells(self.grid.cursor)]
        pairs = zip(titles, texts, strict=True)
        text = ", ".join(f"{title} {text}" for title, text in pairs if text not in ("", figures.UNKNOWN))
        self.app.copy_to_clipboard(f"{clean(self.diagnosis.session.id)} {text}")
        self.notify(f"row {index + 1} is on the clipboard", markup=False, timeout=4)

    # Other screens

    def action_timeline(self) -> None:
        """Open the time axis at the selected row."""
        panel = self.query(WhatIfPanel)
        revision = panel.first().revision if panel else None
        revised = judged(revision.session, revision.ordered) if revision is not None else None
        self.program.open_timeline(self.diagnosis, self.selected or 0, revised)

    def action_totals(self) -> None:
        """Open the sums."""
        from agentsim.tui.totals_screen import TotalsScreen

        self.app.push_screen(TotalsScreen(self.diagnosis, self._only))

    def _only(self, group: RowGroup) -> None:
        self.rows.group = group
        self._rearrange()

    def action_acts(self) -> None:
        """Price what could be done next."""
        from agentsim.tui.next_screen import NextScreen

        self.app.push_screen(NextScreen(self.diagnosis.session))

    def action_context(self) -> None:
        """Show what filled the context."""
        from agentsim.tui.context_screen import ContextScreen

        self.app.push_screen(ContextScreen(self.diagnosis.session))

    def action_problems(self) -> None:
        """List what of the log could not be read."""
        self.program.show_problems(self.diagnosis.session.problems)

    def action_compare(self) -> None:
        """Choose a session to compare with."""
        self.program.choose_other(self.diagnosis)

    # What if

    def action_whatif(self) -> None:
        """Open the panel of policies, go to it, or close it."""
        panel = self.query(WhatIfPanel)
        if not panel:
            self.query_one("#body").mount(WhatIfPanel(self.workbench))
            self.add_class("-whatif")
            self.call_after_refresh(lambda: self.query_one(WhatIfPanel).grid.focus())
        elif self.has_class("-whatif") and panel.first().grid.has_focus:
            self._close_panel()
        else:
            self.add_class("-whatif")
            panel.first().grid.focus()

    def _close_panel(self) -> None:
        self.remove_class("-whatif")
        self.grid.focus()

    def on_what_if_panel_revised(self, event: WhatIfPanel.Revised) -> None:
        """Show revised rows beside the recorded ones."""
        revision = event.revision
        if revision is None:
            self.rows.set_revised(None)
        else:
            self.rows.set_revised(revision.rows, revision.verdicts, revision.base_rows if revision.priced else {})
        self.grid.grown()

    def on_what_if_panel_edit(self, event: WhatIfPanel.Edit) -> None:
        """Ask for parameters."""
        self.query_one(SearchBar).ask("policy", event.hint, event.spec)

    @work(thread=True, exclusive=True, group="saving")
    def _simulate_fix(self, index: int) -> None:
        worker = get_current_worker()
        saving = self.workbench.saving(index)
        if not worker.is_cancelled:
            self.post_message(self.Saved(self.diagnosis.rows[index].request.id, saving))

    def on_trace_screen_saved(self, event: Saved) -> None:
        """Tell what a fix would have saved."""
        self._savings[event.request] = event.saving
        index = self.selected
        if index is not None and self.diagnosis.rows[index].request.id == event.request:
            self.details.show(self.story, index, self._saving(index))

    def _saving(self, index: int) -> list[Piece] | None:
        """What is known of the saving of a row's fix; starts to simulate it where nothing is known yet."""
        verdict = self.diagnosis.verdicts[index]
        if verdict.kind != "miss" or verdict.cause not in FIXES:
            return None
        request = self.diagnosis.rows[index].request.id
        if request not in self._savings:
            self._simulate_fix(index)
            return [("simulating …", Ink.FAINT)]
        saving = self._savings[request]
        if saving is None:
            return [("nothing can be said: the simulation does not reproduce this session well enough", Ink.FAINT)]
        tokens = f" It would have written {saving.written:,} and read {saving.read:,} tokens."
        return [(in_words(saving), Ink.GOOD if (saving.cost or 0) > 0 else Ink.PLAIN), tokens]

    # Work in the background

    @work(thread=True, exclusive=True, group="gaps")
    def _complete(self) -> None:
        self.post_message(self.Completed(previous_in_lane(self.diagnosis.session.requests)))

    def on_trace_screen_completed(self, event: Completed) -> None:
        """Draw the gaps."""
        if len(event.before) == len(self.diagnosis.rows):
            self.rows.complete(event.before)
            self.grid.refresh()

    def _complete_story(self) -> None:
        if not self.story.is_complete:
            self._find_unread(self.story)

    @work(thread=True, exclusive=True, group="unread")
    def _find_unread(self, story: Story) -> None:
        story.complete()
        self.post_message(self.Told(story))

    def on_trace_screen_told(self, event: Told) -> None:
        """Tell the story of the selected row once more, with what was found out."""
        if event.story is self.story and self._timer is None:
            self._tell()

    def on_vanished(self, event: Vanished) -> None:
        """Say that nothing more is to be expected; what was read stays."""
        self.vanished = True
        self._head()

    def on_grown(self, event: Grown) -> None:
        """Show a newer state of the session; stay on the last row if the cursor was there. Flag new misses."""
        diagnosis = event.diagnosis
        known = {row.request.id for row in self.diagnosis.rows}
        fresh = [
            (number, verdict)
            for number, (row, verdict) in enumerate(zip(diagnosis.rows, diagnosis.verdicts, strict=True), 1)
            if verdict.kind == "miss" and row.request.id not in known
        ]
        at_end = self.grid.cursor >= len(self.rows) - 1
        keep = self.selected
        self.diagnosis = diagnosis
        self.story = Story(diagnosis)
        self.workbench.renew(diagnosis)
        self._complete_story()
        self._savings = {}
        self.rows.replace(diagnosis)
        line = len(self.rows) - 1 if at_end else self.rows.nearest(keep if keep is not None else 0)
        self.grid.show(self.rows, line)
        self._head()
        self._count_down()
        for number, verdict in fresh[-3:]:
            lost = f"lost {figures.plural(verdict.lost, 'token')}, {figures.money(verdict.lost_cost)}"
            self.notify(
                clean(f"#{number} {headline(verdict)}: {lost}"),
                title=f"MISS {verdict.cause or ''}",
                severity="error",
                markup=False,
                timeout=10,
            )
        if fresh:
            self.app.bell()

    def documents(self) -> dict[str, Document]:
        """The rows as a table, or the whole replay for programs."""
        return {"markdown": self._as_markdown, "json": self._as_json}

    def _as_markdown(self) -> tuple[str, str]:
        from agentsim.tui.screen_export import markdown

        session = self.diagnosis.session.id
        return f"{session[:40]}-rows.md", markdown(self.rows, f"Session {session}")

    def _as_json(self) -> tuple[str, str]:
        import io

        from agentsim.report.json.canonical_json import replay_document, write_document

        stream = io.StringIO()
        write_document(stream, replay_document(self.diagnosis, rows="misses" if self.rows.only_misses else "all"))
        return f"{self.diagnosis.session.id[:40]}.json", stream.getvalue()
