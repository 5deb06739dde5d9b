"""``agentsim formats``: which logs can be read."""

from __future__ import annotations

import click

from agentsim.commands.command import Command, json_option
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim formats", "All formats that can be read."),
    ("agentsim formats *.jsonl", "Which format each file has."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="List the log formats that can be read.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> ExitCode:
    """List the formats that can be read, or say which one each PATH has. Formats are told from content, not from names."""
    from traces.formats import detect

    from agentsim.commands.inputs import check_path

    if paths:
        for path in paths:
            check_path(path)
        entries = [(path, detect(path)) for path in paths]
    raise NotImplementedError
