"""Start the app in this terminal, and see to it that it ends well."""

from __future__ import annotations

import os
import sys

from agentsim.core.garbage_collection import keep_what_is_there
from agentsim.report.exits import ExitCode, Failure
from agentsim.tui import remembered_state
from agentsim.tui.tui_app import AgentsimApp, Launch

SWITCH = 0.0005
"""Seconds after which a thread lets another one run."""


def run(paths: tuple[str, ...], *, session: str | None = None, follow: bool = False) -> int:
    """Run the app until it is left; returns the exit code.

    Raises Failure when there is no terminal, or what was asked for cannot be read; any defect is raised once the
    terminal is restored.
    """
    served = bool(os.environ.get("TEXTUAL_DRIVER"))
    if not served and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure(
            "the app needs a terminal",
            remedy="'agentsim replay' prints the same, and 'agentsim tui --web' serves it to a browser",
            code=ExitCode.USAGE,
        )
    # Workers calculate in threads; a key must not wait for as long as Python lets them run by default.
    sys.setswitchinterval(SWITCH)
    # What is loaded by now stays; looking through it again and again for garbage would only delay keys.
    keep_what_is_there()
    app = AgentsimApp(Launch(paths=paths, session=session, follow=follow, memory_file=remembered_state.path()))
    code = app.run()
    if app.failure is not None:
        raise Failure(app.failure)
    if app._exception is not None:
        raise app._exception
    return ExitCode.OK if code is None else int(code)
