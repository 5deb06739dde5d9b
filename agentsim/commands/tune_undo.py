"""``agentsim tune undo``: the settings as they were."""

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

EXAMPLES = (("agentsim tune undo", "Show what would change in your settings, and ask."),)


@click.command(cls=Command, examples=EXAMPLES, short_help="Take the settings out again.")
@scope_option
@yes_option
def command(scope: Scope, yes: bool) -> ExitCode:
    """Give each setting that 'agentsim tune --apply' wrote the value that it had before.

    A setting that somebody has changed since stays as it is.
    """
    import os

    from agentsim.guard.installation import settings_file
    from agentsim.guard.settings_text import BadSettings
    from agentsim.tuning.kept_applications import forget, kept_for
    from agentsim.tuning.written_settings import plan_restored, write_settings

    file = settings_file(scope)
    application = kept_for(file)
    paper = Paper.on(sys.stdout)
    if application is None:
        paper.paragraph(f"{file}: nothing of 'agentsim tune --apply' is in it")
        return ExitCode.OK
    try:
        plan = plan_restored(file, application.written, application.before)
    except BadSettings as error:
        raise Failure(str(error), file=file, remedy="mend the file first; nothing was written") from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise Failure(reason, file=file, remedy="check that it is a file you may read") from None
    if plan.before is None or not plan.changes:
        forget(file)
        paper.paragraph(f"{file}: the settings were changed or taken out already")
        return ExitCode.OK
    show_difference(plan)
    if not agreed(yes):
        return ExitCode.OK
    if application.missing and "".join(plan.after.split()) == "{}":
        os.unlink(file)
    else:
        write_settings(plan)
    forget(file)
    paper.paragraph(f"{file}: as it was")
    return ExitCode.OK
