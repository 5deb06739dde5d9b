"""``agentsim doctor``: what was found on this machine, what was not read, what is installed, and of which date."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option, paths_argument
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim doctor", "What there is on this machine, and what is missing."),
    ("agentsim doctor ~/logs", "Which files of a folder would be read, and why others would not."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what was found, what was not read, what is installed.")
@paths_argument(required=False)
@json_option
@rules_option
def command(paths: tuple[str, ...], as_json: bool) -> ExitCode:
    """Show what agentsim finds and has: logs by format and files that are none, extras, rules, prices, caches.

    Without PATH it looks where each harness keeps its logs. Only the beginnings of files are read: what is wrong inside
    one, 'agentsim summary' tells.
    """
    from agentsim.commands.options.session_inputs import check_path
    from agentsim.fleet.checkup import check_up

    for path in paths:
        check_path(path)
    found = check_up(paths)
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.checkup_json import checkup_document

        write_document(sys.stdout, checkup_document(found))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.checkup_page import write_checkup

        write_checkup(Paper.on(sys.stdout), found)
    return ExitCode.OK
