"""``agentsim context``: what filled the contexts, and what each piece cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import (
    Command,
    content_option,
    json_option,
    paths_argument,
    session_option,
    strict_option,
)
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode

if TYPE_CHECKING:
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim context session.jsonl", "What filled the context, and what carrying it cost."),
    ("agentsim context session.jsonl --top 30", "A longer list of the most expensive pieces."),
    ("agentsim context session.jsonl --content", "With their first words, which may be private."),
    ("agentsim context session.jsonl --json | jq '.sessions[0].groups'", "The same for programs."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what filled the context, and what carrying it cost.")
@paths_argument()
@json_option
@click.option("--top", type=click.IntRange(0, 100_000), default=10, show_default=True, help="How many pieces to list.")
@session_option
@content_option
@strict_option
@rules_option
def command(
    paths: tuple[str, ...], as_json: bool, top: int, session_id: str | None, content: bool, strict: bool
) -> ExitCode:
    """Show what filled the contexts of sessions, and what each piece cost from when it came until it left.

    Every request pays for its whole prompt again: at the price of a read where the cache held it, else at that of a
    write or of fresh input. The page lays each prompt out piece by piece, prices each place by the row's own rates, and
    adds up, so that the pieces and the answers are the bill to the cent. Sizes that no log tells are estimates, scaled
    so that each request's counters hold.

    Several sessions are summed up, with a line for each. 'Not in the log' is what a log's words do not show: tools and
    system text, where it has only the messages.
    """
    from agentsim.commands.options.session_inputs import choose_session, read_sessions, tell_skips, unreadable
    from agentsim.context import account
    from agentsim.traces.words.growths import growths_of

    problems: list[Problem] = []
    sessions = read_sessions(paths, problems)
    if session_id is not None:
        sessions = [choose_session(sessions, session_id)]
    try:
        accounts = [account(session, growths_of(session, content), content=content) for session in sessions]
    except OSError as error:
        raise unreadable(error, paths[0]) from error
    accounts.sort(key=lambda one: (-one.bill, one.id))
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.context_json import context_document

        write_document(sys.stdout, context_document(accounts, top, problems))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.context_page import write_accounts

        write_accounts(Paper.on(sys.stdout), accounts, top=top)
    return tell_skips(sessions, problems, strict)
