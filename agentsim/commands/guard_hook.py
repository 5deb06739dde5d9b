"""``agentsim guard hook``: what Claude Code asks before something expensive happens."""

from __future__ import annotations

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (("agentsim guard hook < event.json", "The answer to an event of Claude Code; nothing where it is cheap."),)


@click.command(cls=Command, examples=EXAMPLES, short_help="Answer Claude Code's hooks: warn, ask or block by price.")
def command() -> ExitCode:
    """Read an event from standard input, and answer with one sentence where what is about to happen is expensive: a
    prompt into a cold cache, a switch of the model or the effort, a resume, a summary.

    Limits in dollars and tokens stand in guard.toml; without it there is a warning from $0.50 on. It never fails and
    never takes longer than 150 ms: 'agentsim guard status' tells what went wrong.
    """
    from agentsim.guard.hook_answer import main

    return ExitCode(main())
