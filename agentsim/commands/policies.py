"""``agentsim policies``: what a comparison can try."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim policies", "All policies, one line each."),
    ("agentsim policies keep-alive", "One of them: its parameters, its condition, and how to follow it."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="List the policies that a comparison can try.")
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> ExitCode:
    """List the policies, or tell all about the one called NAME: parameters, condition, and how to follow it."""
    from agentsim.whatif.policies import NAMES, PolicyError, kind_of

    try:
        kinds = [kind_of(each) for each in (NAMES if name is None else [name])]
    except PolicyError as error:
        reason, _, remedy = str(error).partition("; ")
        raise Failure(reason, remedy=remedy or "see 'agentsim policies'", code=ExitCode.USAGE) from None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.comparison_json import policies_document

        write_document(sys.stdout, policies_document(kinds))
        return ExitCode.OK
    from agentsim.report.paper import Paper
    from agentsim.report.screen.policies_page import write_policies, write_policy

    paper = Paper.on(sys.stdout)
    if name is None:
        write_policies(paper, kinds)
    else:
        write_policy(paper, kinds[0])
    return ExitCode.OK
