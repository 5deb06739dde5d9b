"""``agentsim guard install``: the status line and the hooks, into Claude Code's settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command
from agentsim.commands.options.guard_options import agreed, scope_option, show_difference, yes_option
from agentsim.report.exits import ExitCode, Failure
from agentsim.report.paper import Paper

if TYPE_CHECKING:
    from agentsim.guard.installation import Scope

EXAMPLES = (
    ("agentsim guard install", "Show what would change in your settings, and ask."),
    ("agentsim guard install --scope local --yes", "For this folder and you alone, without asking."),
    ("agentsim guard install --no-hooks", "The status line alone."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Put the status line and the hooks into Claude Code.")
@scope_option
@click.option("--hooks/--no-hooks", default=True, help="With the hooks, or without.", show_default=True)
@click.option(
    "--status-line/--no-status-line", default=True, help="With the status line, or without.", show_default=True
)
@yes_option
def command(scope: Scope, hooks: bool, status_line: bool, yes: bool) -> ExitCode:
    """Show the difference to Claude Code's settings, and write it when you agree.

    A status line that is there already is shown in front of ours; other hooks, other settings and comments stay as
    they are. Twice is the same as once. 'agentsim guard undo' takes it out again.
    """
    from agentsim.guard.guard_policy import load_policy
    from agentsim.guard.installation import apply, plan_install, settings_file
    from agentsim.guard.settings_text import BadSettings

    file = settings_file(scope)
    try:
        budget = bool(load_policy().get("budget"))
    except OSError as error:
        raise Failure(str(error), remedy="check that the settings of agentsim may be read and written") from None
    try:
        plan = plan_install(file, status_line=status_line, hooks=hooks, budget=budget)
    except BadSettings as error:
        raise Failure(str(error), file=file, remedy="mend the file first; nothing was written") from None
    except OSError as error:
        raise Failure(
            error.strerror or "cannot be read", file=file, remedy="check that it is a file you may read"
        ) from None
    if not plan.changes:
        Paper.on(sys.stdout).paragraph(f"{file}: installed already")
        return ExitCode.OK
    show_difference(plan)
    if not agreed(yes):
        return ExitCode.OK
    apply(plan)
    Paper.on(sys.stdout).paragraph(f"{file}: written; 'agentsim guard undo --scope {scope}' takes it out again")
    return ExitCode.OK
