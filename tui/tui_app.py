"""The app: what is open, what it remembers, themes, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import ClassVar

import msgspec
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from agentsim.core.garbage_collection import keep_what_is_there
from agentsim.core.session import Problem, Session
from agentsim.diagnose import Diagnosis
from agentsim.report.clean import clean
from agentsim.tui import remembered_state
from agentsim.tui.base_screen import Page
from agentsim.tui.themes import FALLBACK, THEMES, colourless, colourless_fallback

KEY_NAMES = {"slash": "/", "ctrl+q": "Ctrl+Q", "ctrl+t": "Ctrl+T", "space": "Space"}
"""Keys as the help page writes them."""

MANY = 20_000
"""Rows from which on a session is kept from the garbage collector."""


@cache
def _own_actions(kind: type) -> frozenset[str]:
    """The actions of the keys that a class, or one that it is made from, declares in this package."""
    declared = (vars(base).get("BINDINGS", ()) for base in kind.__mro__ if base.__module__.startswith("agentsim."))
    return frozenset(binding.action for bindings in declared for binding in bindings if isinstance(binding, Binding))


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    paths: tuple[str, ...] = ()
    session: str | None = None
    follow: bool = False
    memory_file: str | None = None
    """Where choices are remembered; ``None``: nowhere."""
    diagnoses: tuple[Diagnosis, ...] = ()
    """Sessions that are in memory already; nothing is read then."""


class AgentsimApp(App[int]):
    """Recorded, simulated and live sessions, each lost cache explained."""

    TITLE = "agentsim"
    ENABLE_COMMAND_PALETTE = True
    CSS = """
    Screen { background: $background; }
    Toast { max-width: 70; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
        Binding("ctrl+t", "next_theme", "Theme", show=False),
    ]

    class Read(Message):
        """Paths were read by a worker."""

        def __init__(self, sessions: Sequence[Session], failure: str | None, diagnoses: Sequence[Diagnosis]) -> None:
            super().__init__()
            self.sessions = sessions
            self.failure = failure
            self.diagnoses = diagnoses

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self.launch = launch
        self.memory = (
            remembered_state.load(launch.memory_file) if launch.memory_file else remembered_state.RememberedState()
        )
        self.failure: str | None = None
        """Why the app ended, where it could not do what it was asked to."""
        self._themes = tuple(map(colourless, THEMES)) if self.no_color else THEMES
        for theme in self._themes:
            self.register_theme(theme)
        if self.memory.theme not in self.available_themes:
            self.memory.theme = "dark"
        self.theme = self.memory.theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our colours for themes that are not ours."""
        return colourless_fallback() if self.no_color else FALLBACK

    # Opening

    def on_mount(self) -> None:
        """Open what was asked for."""
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self._end_well_on_signals()
        launch = self.launch
        if launch.diagnoses:
            if len(launch.diagnoses) == 1:
                self.open(launch.diagnoses[0])
            else:
                self._pick(launch.diagnoses)
        elif not launch.paths or any(os.path.isdir(path) for path in launch.paths):
            self._pick(())
        else:
            from agentsim.tui.waiting_screen import WaitingScreen

            self.push_screen(WaitingScreen(launch.paths))
            self._read(launch.paths, launch.session)

    @work(thread=True, exclusive=True, group="read")
    def _read(self, paths: Sequence[str], session_id: str | None) -> None:
        from agentsim.tui.session_loading import SCENARIO, judge, read_paths

        opened = read_paths(paths)
        chosen = [s for s in opened.sessions if session_id is None or s.id.startswith(session_id)]
        failure = opened.failure
        if not chosen and failure is None:
            failure = f"no session begins with {session_id}" if opened.sessions else "no session in here"
        # Simulated sessions stand in no log that the list of sessions could read.
        whole = len(chosen) == 1 or any(path.endswith(SCENARIO) for path in paths)
        self.post_message(self.Read(chosen, failure, [judge(session) for session in chosen] if whole else []))

    def on_agentsim_app_read(self, event: Read) -> None:
        """Show the session; several are for a person to choose from."""
        if len(event.diagnoses) == 1:
            self.open(event.diagnoses[0], instead=True)
        elif event.sessions:
            from agentsim.tui.picker.picker_screen import PickerScreen

            self.switch_screen(PickerScreen(self.launch.paths, event.diagnoses))
        else:
            self.failure = event.failure
            self.exit(3)

    def open_timeline(self, diagnosis: Diagnosis, row: int, revised: Diagnosis | None) -> None:
        """Show a session on the time axis, above what is shown."""
        from agentsim.tui.timeline.timeline_screen import TimelineScreen

        self.push_screen(TimelineScreen(diagnosis, row, revised))

    def show_help(self, page: Page) -> None:
        """Open the help page of a screen."""
        from agentsim.tui.help_screen import HelpScreen

        self.push_screen(HelpScreen(page.HELP_TITLE, page.HELP_KEYS))

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """List what could not be read, and why."""
        from agentsim.tui.problems_screen import ProblemsScreen

        if problems:
            self.push_screen(ProblemsScreen(problems))
        else:
            self.notify("Everything was read.", markup=False, timeout=4)

    def ask_export(self, page: Page) -> None:
        """Ask for a format, and export what a screen shows."""
        from agentsim.tui.screen_export import ExportScreen

        self.push_screen(ExportScreen(page))

    def open(self, diagnosis: Diagnosis, *, instead: bool = False) -> None:
        """Show a session, above what is shown or instead of it."""
        from agentsim.tui.trace.trace_screen import TraceScreen

        if len(diagnosis.rows) > MANY:
            # A session makes no cycles: looking through millions of its objects for some would only delay keys.
            keep_what_is_there()
        screen = TraceScreen(diagnosis, at_end=self.launch.follow)
        if instead:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
        if self.launch.follow and diagnosis.session.files:
            from agentsim.tui.log_follower import follow

            follow(screen)

    def _pick(self, diagnoses: Sequence[Diagnosis]) -> None:
        from agentsim.tui.picker.picker_screen import PickerScreen

        self.push_screen(PickerScreen(self.launch.paths, diagnoses))

    def choose_other(self, diagnosis: Diagnosis) -> None:
        """Ask for a session to compare with."""
        from agentsim.tui.picker.picker_screen import PickerScreen

        self.push_screen(PickerScreen(self.launch.paths, self.launch.diagnoses, compare_with=diagnosis))

    def leave(self, screen: Page) -> None:
        """Close a screen; the app ends with its last one."""
        # The first screen is Textual's own, empty one.
        if len(self.screen_stack) > 2:
            if self.screen is screen:
                self.pop_screen()
        else:
            self.exit(0)

    # Themes and commands

    def action_command_palette(self) -> None:
        """Open the command palette."""
        from agentsim.tui.command_palette import SafePalette

        if not isinstance(self.screen, SafePalette):
            self.push_screen(SafePalette(id="--command-palette"))

    def action_next_theme(self) -> None:
        """Dark, light, colour-blind safe."""
        names = [theme.name for theme in THEMES]
        place = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(place + 1) % len(names)]
        self.notify(f"theme: {self.theme}", markup=False, timeout=4)

    def _remember_theme(self, theme: object) -> None:
        self.memory.theme = self.theme

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen by its name and key, then the themes. What the framework adds of its own (moving
        the focus, its screenshots and key list) has a key or a page here already, and is left out."""
        seen: set[str] = set()
        for active in screen.active_bindings.values():
            binding, node = active.binding, active.node
            name = binding.description
            # Names begin with a capital where they are for people; those of the grid's moves do not.
            wanted = name[:1].isupper() and active.enabled and binding.action in _own_actions(type(node))
            if wanted and binding.action not in seen:
                seen.add(binding.action)
                key = binding.key_display or binding.key
                yield SystemCommand(f"{name}  ({KEY_NAMES.get(key, key)})", "", self._runner(binding.action, node))
        for theme in self._themes:
            yield SystemCommand(f"Theme: {theme.name}", "", self._chooser(theme.name))

    def _runner(self, action: str, node: object) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action, node)

        return run

    def _chooser(self, name: str) -> Callable[[], None]:
        def choose() -> None:
            self.theme = name

        return choose

    # The end

    def _end_well_on_signals(self) -> None:
        """A signal that would kill the process ends the app instead, so that the terminal is restored."""
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # Not everywhere, and only in the main thread.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.exit, 128 + number)

    def on_unmount(self) -> None:
        """Remember the choices."""
        if self.launch.memory_file:
            remembered_state.save(self.memory, self.launch.memory_file)

    def _fatal_error(self) -> None:
        """End without printing a traceback: its locals would repeat words of a log to the terminal as they are."""
        self._close_messages_no_wait()

    def notify_failure(self, text: str) -> None:
        """Say that something did not work."""
        self.notify(clean(text, 300), severity="error", markup=False)
