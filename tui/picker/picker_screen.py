"""The list of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Footer
from textual.worker import get_current_worker

from agentsim.core.session import Problem
from agentsim.core.sums import known_sum
from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.grid import Grid
from agentsim.tui.ink import Ink, Piece, safe
from agentsim.tui.picker.gather_process import Gathering
from agentsim.tui.picker.gather_sessions import PickerLine, line_of
from agentsim.tui.picker.session_list import SORTS, SessionRows
from agentsim.tui.search_bar import SearchBar
from agentsim.tui.session_name import called


class PickerScreen(Page):
    """All sessions, newest first. Opens one; or two that are marked, beside each other."""

    CSS = "PickerScreen Grid { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", show=True, key_display="Enter"),
        Binding("slash", "search", "Search", key_display="/", priority=True),
        Binding("s", "sort", "Sort"),
        Binding("S", "reverse", "Reverse", show=False),
        Binding("space", "mark", "Mark", key_display="Space"),
        Binding("c", "compare", "Compare"),
        Binding("y", "copy", "Copy the command", show=False),
        Binding("p", "problems", "Files not read, and why", show=False),
        Binding("f", "findings", "What is lost again and again", show=False),
    ]
    HELP_TITLE = "Sessions"
    HELP_KEYS = (
        ("Enter", "open the session"),
        ("/", "search: only sessions whose project, id or format holds the text"),
        ("s  S", "sort by the next column; reverse (or click a title)"),
        ("Space", "mark a session"),
        ("c", "compare the two marked ones, or the marked one with this"),
        ("y", "copy the command that replays the session"),
        ("p", "which files could not be read, and why"),
        ("f", "what was lost in the same way again and again, and what it comes with"),
    )

    class Gathered(Message):
        """A worker has summed up some sessions."""

        def __init__(self, lines: Sequence[PickerLine], done: int, total: int) -> None:
            super().__init__()
            self.lines = lines
            self.done = done
            self.total = total

    class Finished(Message):
        """The worker is through."""

        def __init__(self, problems: Sequence[Problem]) -> None:
            super().__init__()
            self.problems = problems

    class Found(Message):
        """Findings over all sessions; ``None`` where there are none to be had."""

        def __init__(self, found: dict[str, Any] | None) -> None:
            super().__init__()
            self.found = found

    class Judged(Message):
        """Sessions were read and judged."""

        def __init__(self, diagnoses: Sequence[Diagnosis], failure: str) -> None:
            super().__init__()
            self.diagnoses = diagnoses
            self.failure = failure

    def __init__(
        self,
        paths: Sequence[str],
        diagnoses: Sequence[Diagnosis] = (),
        *,
        compare_with: Diagnosis | None = None,
    ) -> None:
        super().__init__()
        self._paths = tuple(paths)
        self._ready = {line_of(diagnosis).key: diagnosis for diagnosis in diagnoses}
        self._compare_with = compare_with
        self.rows = SessionRows()
        self._gathering = Gathering(paths)
        self._progress = (0, 0)
        self._problems: Sequence[Problem] = ()
        self._finished = False
        self._opening = False
        self._moved = False

    def compose(self) -> ComposeResult:
        """Heading, list, search bar, footer."""
        yield Heading()
        yield Grid(id="sessions")
        yield SearchBar()
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Begin to load."""
        memory = self.program.memory
        if memory.picker_sort in SORTS:
            self.rows.sort, self.rows.descending = memory.picker_sort, memory.picker_descending
        self.grid.show(self.rows)
        self.grid.focus()
        self._mark_sorted()
        if self._ready:
            self.rows.put(line_of(diagnosis) for diagnosis in self._ready.values())
            self.grid.show(self.rows)
            self._finished = True
        else:
            self._load()
        self._head()

    @property
    def grid(self) -> Grid:
        """The list."""
        return self.query_one(Grid)

    @property
    def chosen(self) -> PickerLine | None:
        """The session under the cursor."""
        return self.rows.shown[self.grid.cursor] if self.grid.cursor < len(self.rows) else None

    def _head(self) -> None:
        lines = self.rows.shown
        first: list[Piece] = [("agentsim", Ink.STRONG), (" · sessions", Ink.FAINT)]
        if self._compare_with is not None:
            name = called(self._compare_with.session)
            first = [("compare with ", Ink.FAINT), (name, Ink.STRONG), (": choose the other session", Ink.FAINT)]
        done, total = self._progress
        if not self._finished:
            cells = 20 * done // total if total else 0
            first += [("  " + "█" * cells + "░" * (20 - cells), Ink.READ), (f" {done:,} of {total:,}", Ink.FAINT)]
        elif self._problems:
            first.append(
                (
                    f"  {figures.plural(len(self._problems), 'file')} could not be read wholly (p: which, and why)",
                    Ink.WARN,
                )
            )
        second: list[Piece] = []
        if self._finished and not self.rows.all:
            where = ", ".join(safe(path, 60) for path in self._paths) or "this machine, where harnesses keep their logs"
            second = [(f"no sessions found; name a log: agentsim tui PATH (looked in {where})", Ink.WARN)]
        elif not self.rows.all:
            second = [("looking for sessions …", Ink.FAINT)]
        elif not lines:
            wanted = safe(self.rows.wanted, 30)
            second = [(f"no session holds “{wanted}” (of {len(self.rows.all):,}); Esc shows all", Ink.WARN)]
        else:
            read, whole = sum(line.read for line in lines), sum(line.total for line in lines)
            lost = known_sum(line.lost for line in lines if line.misses)
            cost = figures.money(known_sum(line.cost for line in lines if line.requests))
            second = [
                f"{figures.plural(len(lines), 'session')} · hit rate {figures.per_cent(read, whole)} % · {cost} · ",
                (f"{figures.UNKNOWN if lost is None else figures.money(lost)} lost", Ink.BAD if lost else Ink.PLAIN),
            ]
            if self.rows.wanted:
                second.append((f" · “{safe(self.rows.wanted, 30)}” of {len(self.rows.all):,}", Ink.WARN))
        self.query_one(Heading).say(first, second)

    # Loading

    @work(thread=True, exclusive=True, group="gather")
    def _load(self) -> None:
        worker = get_current_worker()

        def tell(lines: Sequence[PickerLine], done: int, total: int) -> bool:
            if worker.is_cancelled:
                return False
            self.post_message(self.Gathered(lines, done, total))
            return True

        problems = self._gathering.run(tell)
        if not worker.is_cancelled:
            self.post_message(self.Finished(problems))

    def on_unmount(self) -> None:
        """Nobody waits for the rest any more."""
        self._gathering.stop()

    def on_picker_screen_gathered(self, event: Gathered) -> None:
        """Put sessions into the list; the cursor stays on its session once a person has moved it."""
        self._progress = (event.done, event.total)
        if event.lines:
            keep = self.chosen.key if self._moved and self.chosen is not None else None
            self.rows.put(event.lines)
            self._show(keep)
        self._head()

    def on_picker_screen_finished(self, event: Finished) -> None:
        """All sessions are there."""
        self._finished = True
        self._problems = event.problems
        self._head()

    def _show(self, keep: tuple[str, str] | None) -> None:
        self.grid.show(self.rows, self.rows.line_of(keep) if keep is not None else 0)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Remember that a person has chosen a line."""
        self._moved = event.line > 0

    # Keys

    def _mark_sorted(self) -> None:
        self.grid.sorted_by, self.grid.descending = self.rows.sort, self.rows.descending
        memory = self.program.memory
        memory.picker_sort, memory.picker_descending = self.rows.sort, self.rows.descending

    def _rearrange(self) -> None:
        keep = self.chosen.key if self.chosen is not None else None
        self.rows.arrange()
        self._mark_sorted()
        self._show(keep)
        self._head()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.rows.sort = SORTS[(SORTS.index(self.rows.sort) + 1) % len(SORTS)]
        self.rows.descending = self.rows.sort != "name"
        self._rearrange()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.rows.descending = not self.rows.descending
        self._rearrange()

    def on_grid_title_clicked(self, event: Grid.TitleClicked) -> None:
        """Sort by the column whose title was clicked."""
        if event.key == self.rows.sort:
            self.action_reverse()
        elif event.key in SORTS:
            self.rows.sort, self.rows.descending = event.key, event.key != "name"
            self._rearrange()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No second search while one types. (Its key comes first, so that keys typed ahead are part of the text.) The
        key of the help page is text then too."""
        return action not in ("search", "help") or not any(bar.display for bar in self.query(SearchBar))

    def action_search(self) -> None:
        """Open the search bar."""
        self.query_one(SearchBar).ask("search", "project, id or format", self.rows.wanted)

    def on_search_bar_typed(self, event: SearchBar.Typed) -> None:
        """Show what matches while one types."""
        self.rows.wanted = event.text
        self._rearrange()

    def on_search_bar_done(self, event: SearchBar.Done) -> None:
        """Back to the list."""
        self.grid.focus()

    def on_search_bar_cancelled(self, event: SearchBar.Cancelled) -> None:
        """Show all again."""
        self.rows.wanted = ""
        self._rearrange()
        self.grid.focus()

    def action_back(self) -> None:
        """Drop the search first."""
        if self.rows.wanted:
            self.rows.wanted = ""
            self._rearrange()
        else:
            super().action_back()

    def action_mark(self) -> None:
        """Mark or unmark a session; two at most."""
        if self.chosen is None:
            return
        key = self.chosen.key
        if key in self.rows.marked:
            self.rows.marked.remove(key)
        else:
            self.rows.marked = [*self.rows.marked, key][-2:]
        self.grid.refresh()

    def action_problems(self) -> None:
        """List the files that could not be read, or not wholly."""
        self.program.show_problems(self._problems)

    def action_findings(self) -> None:
        """List what was lost in the same way again and again."""
        self.notify("reading all sessions …", markup=False, timeout=4)
        self._find()

    @work(thread=True, exclusive=True, group="findings")
    def _find(self) -> None:
        from agentsim.tui.findings_screen import findings_of_all

        found = findings_of_all(self._paths)
        if not get_current_worker().is_cancelled:
            self.post_message(self.Found(found))

    def on_picker_screen_found(self, event: Found) -> None:
        """Show what was found."""
        from agentsim.tui.findings_screen import FindingsScreen

        if event.found is None:
            self.notify("The sessions could not be read.", severity="warning", markup=False, timeout=4)
        else:
            self.app.push_screen(FindingsScreen(event.found))

    def action_copy(self) -> None:
        """Copy the command that shows the session without the app."""
        if self.chosen is not None:
            from shlex import quote

            files = " ".join(quote(safe(file)) for file in self.chosen.files[:3])
            self.app.copy_to_clipboard(f"agentsim replay {files} --session {quote(safe(self.chosen.session))}")
            self.notify("the command is on the clipboard", markup=False, timeout=4)

    def action_open(self) -> None:
        """Open the session under the cursor."""
        if self.chosen is not None and not self._opening:
            self._read([self.chosen])

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Enter, or a second click."""
        self.action_open()

    def action_compare(self) -> None:
        """Compare two marked sessions, or the marked one with that under the cursor."""
        by_key = {line.key: line for line in self.rows.all}
        lines = [by_key[key] for key in self.rows.marked if key in by_key]
        if len(lines) == 1 and self.chosen is not None and self.chosen.key != lines[0].key:
            lines.append(self.chosen)
        if len(lines) == 2:
            self._read(lines)
        else:
            self.notify("mark a session with Space, then choose another", markup=False, timeout=3)

    def _read(self, lines: Sequence[PickerLine]) -> None:
        self._opening = True
        if all(line.key in self._ready for line in lines):
            self.post_message(self.Judged([self._ready[line.key] for line in lines], ""))
        else:
            self._read_files(lines)

    @work(thread=True, exclusive=True, group="read")
    def _read_files(self, lines: Sequence[PickerLine]) -> None:
        from agentsim.tui.session_loading import read_session

        diagnoses = []
        for line in lines:
            diagnosis, failure = read_session(line.files, line.session)
            if diagnosis is None:
                self.post_message(self.Judged([], failure))
                return
            diagnoses.append(diagnosis)
        self.post_message(self.Judged(diagnoses, ""))

    def on_picker_screen_judged(self, event: Judged) -> None:
        """Show what was read."""
        from agentsim.tui.compare_screen import CompareScreen

        self._opening = False
        if not event.diagnoses:
            self.program.notify_failure(event.failure)
        elif self._compare_with is not None:
            self.app.switch_screen(CompareScreen(self._compare_with, event.diagnoses[0]))
        elif len(event.diagnoses) == 2:
            self.app.push_screen(CompareScreen(event.diagnoses[0], event.diagnoses[1]))
        else:
            self.program.open(event.diagnoses[0])

    def documents(self) -> dict[str, Document]:
        """The list as a table."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        from agentsim.tui.screen_export import markdown

        return "sessions.md", markdown(self.rows, "Sessions")
