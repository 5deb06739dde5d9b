"""``agentsim tui``: look at sessions row by row in the terminal, or in a browser."""

from __future__ import annotations

import click

from agentsim.commands.options.command import Command, paths_argument, session_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim tui", "Choose among all sessions on this machine, of any harness."),
    ("agentsim tui session.jsonl", "One session: its rows, and why each cache was lost."),
    ("agentsim tui --follow", "Watch the newest session on this machine while it runs."),
    ("agentsim tui --web", "The same in a browser on this machine."),
)
DEFAULT_PORT = 8013


@click.command(cls=Command, examples=EXAMPLES, short_help="Look at sessions row by row, in the terminal or a browser.")
@paths_argument(required=False)
@session_option
@click.option("--follow", is_flag=True, help="Keep reading a log that grows, and flag each miss.")
@click.option("--web", is_flag=True, help="Serve the app to a browser on this machine (loopback only).")
@click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True, help="Port for --web.")
@rules_option
def command(paths: tuple[str, ...], session_id: str | None, follow: bool, web: bool, port: int) -> int:
    """Open the terminal app. PATH is a log or a folder of logs; without one, all logs of this machine.

    With --follow and no PATH it is the newest session. Press ? in the app for its keys.
    """
    from agentsim.commands.options.session_inputs import check_path

    for path in paths:
        check_path(path)
    if follow and not paths:
        paths = (_newest(),)
    try:
        if web:
            from agentsim.tui.web_server import serve

            return serve(paths, session=session_id, follow=follow, port=port)
        from agentsim.tui.tui_run import run
    except ModuleNotFoundError as missing:
        served = (missing.name or "").startswith("textual_serve")
        remedy = how_to_install("web") if served else f"pip install {missing.name}"
        raise Failure(not_installed(missing.name), remedy=remedy, code=ExitCode.USAGE) from missing
    return run(paths, session=session_id, follow=follow)


def _newest() -> str:
    """The log on this machine that was written to last. Raises Failure where there is none."""
    from agentsim.traces.harness_places import found_places, newest_log

    log = newest_log([place.path for place in found_places()])
    if log is None:
        raise Failure("no logs of a harness on this machine", remedy="name the log to follow")
    return log
