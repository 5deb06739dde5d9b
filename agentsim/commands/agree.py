"""``agentsim agree``: blind verdicts against the reasons that the provider recorded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, json_option, paths_argument, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode

if TYPE_CHECKING:
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim agree ~/.claude/projects", "How far the verdicts can be trusted on your own logs."),
    ("agentsim agree session.jsonl --json | jq .matrix", "The confusion matrix for programs."),
)


@click.command(
    cls=Command, examples=EXAMPLES, short_help="Compare blind verdicts with the provider's recorded reasons."
)
@paths_argument()
@json_option
@strict_option
@rules_option
def command(paths: tuple[str, ...], as_json: bool, strict: bool) -> ExitCode:
    """Judge sessions blind and compare with the reasons that the provider itself wrote into the logs.

    'the same': the verdict is the provider's reason. 'compatible': the verdict leaves that reason open. 'contradicted':
    it rules the reason out, and the exit code is 1.
    """
    from agentsim.commands.options.session_inputs import all_problems, read_sessions, tell_skips
    from agentsim.trust.agreement import agree

    problems: list[Problem] = []
    sessions = read_sessions(paths, problems)
    agreement = agree(sessions)
    if as_json:
        from agentsim.report.json.canonical_json import agreement_document, write_document

        write_document(sys.stdout, agreement_document(agreement, all_problems(sessions, problems)))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.agreement_page import write_agreement

        write_agreement(Paper.on(sys.stdout), agreement)
    skips = tell_skips(sessions, problems, strict)
    if skips is not ExitCode.OK:
        return skips
    return ExitCode.FINDINGS if agreement.contradicted else ExitCode.OK
