"""``agentsim guard undo``: Claude Code's settings as they were."""

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

EXAMPLES = (("agentsim guard undo", "Show what would change in your settings, and ask."),)


@click.command(cls=Command, examples=EXAMPLES, short_help="Take the status line and the hooks out again.")
@scope_option
@yes_option
def command(scope: Scope, yes: bool) -> ExitCode:
    """Take what 'agentsim guard install' wrote out of Claude Code's settings.

    A file that nobody has changed since becomes what it was, to the byte; else ours alone is taken out.
    """
    from agentsim.guard.installation import apply, plan_undo, settings_file
    from agentsim.guard.settings_text import BadSettings

    file = settings_file(scope)
    try:
        plan = plan_undo(file)
    except BadSettings as error:
        raise Failure(str(error), file=file, remedy="mend the file first; nothing was written") from None
    except OSError as error:
        raise Failure(
            error.strerror or "cannot be read", file=file, remedy="check that it is a file you may read"
        ) from None
    if plan.before is None or not plan.changes:
        Paper.on(sys.stdout).paragraph(f"{file}: nothing of agentsim is in it")
        return ExitCode.OK
    show_difference(plan)
    if not agreed(yes):
        return ExitCode.OK
    apply(plan, undo=True)
    Paper.on(sys.stdout).paragraph(f"{file}: as it was")
    return ExitCode.OK
