"""``agentsim guard statusline``: what Claude Code shows under its prompt."""

from __future__ import annotations

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim guard statusline < document.json", "The line for a document of Claude Code."),
    ("agentsim guard statusline --wrap 'my-status-line'", "Behind the line that was there before."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Write Claude Code's status line: the cache and its price.")
@click.option("--wrap", metavar="COMMAND", help="A status line of your own: run with the same input, shown first.")
def command(wrap: str | None) -> ExitCode:
    """Read Claude Code's document from standard input, and write one line: the hit rate, for how long the cache is
    warm, what it costs when it is cold, and the last miss with its cause and price.

    'agentsim guard install' puts it into Claude Code's settings. NO_COLOR takes its colours away. What Claude Code says
    of its cache and writes to no log is kept in a file of figures, which 'agentsim replay' reads.
    """
    from agentsim.guard.status_line import main

    return ExitCode(main([] if wrap is None else ["--wrap", wrap]))
