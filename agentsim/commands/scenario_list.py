"""``agentsim scenario list``: the bundled scenarios and their stories."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option
from agentsim.core.near_words import did_you_mean
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim scenario list", "What can be run without writing a file."),
    ("agentsim scenario list --show pi-day > mine.toml", "A start for one of your own."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="List the bundled scenarios.")
@click.option("--show", metavar="NAME", help="Print the file of one of them.")
@json_option
def command(show: str | None, as_json: bool) -> ExitCode:
    """List the bundled scenarios, each with its story. 'agentsim run NAME' simulates one."""
    from agentsim.report.exits import Failure
    from agentsim.scenarios.bundled_scenarios import names, story, text

    if show is not None:
        if show not in names():
            raise Failure(
                f"no bundled scenario is called {show}",
                remedy=did_you_mean(show, names(), "'agentsim scenario list' lists them"),
                code=ExitCode.USAGE,
            )
        from agentsim.report.output import write_safe

        write_safe(sys.stdout, text(show))
        return ExitCode.OK
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.run_json import scenarios_document

        write_document(sys.stdout, scenarios_document([(name, story(name)) for name in names()]))
        return ExitCode.OK
    from agentsim.report.paper import Paper, Style

    paper = Paper.on(sys.stdout)
    for number, name in enumerate(names()):
        if number:
            paper.line()
        paper.line((name, Style.STRONG))
        paper.paragraph(" ".join(story(name).split()), first=["  "], rest=["  "])
    return ExitCode.OK
