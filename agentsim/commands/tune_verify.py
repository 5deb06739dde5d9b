"""``agentsim tune verify``: what a setting was to save, and what it saved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, json_option, paths_argument, strict_option
from agentsim.commands.options.guard_options import scope_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem
    from agentsim.guard.installation import Scope

EXAMPLES = (("agentsim tune verify", "What was predicted, what was measured, and whether to undo it."),)


@click.command(cls=Command, examples=EXAMPLES, short_help="Hold what was predicted against the sessions since.")
@paths_argument(required=False)
@scope_option
@json_option
@strict_option
@rules_option
def command(paths: tuple[str, ...], scope: Scope, as_json: bool, strict: bool) -> ExitCode:
    """Hold what 'agentsim tune --apply' predicted against the sessions since.

    Each session since is simulated under the lifetimes of before; the difference to its bill is what the setting saved.
    Beside it stand the bills alone: requests of the same model, lane, size and pause, before and since. Exit code 1:
    the setting costs more, and should be undone.
    """
    from agentsim.commands.options.session_inputs import tell_skips
    from agentsim.commands.options.tuned_sessions import sessions_since
    from agentsim.guard.installation import settings_file
    from agentsim.tuning.kept_applications import kept_for
    from agentsim.tuning.tune_choice import CannotTune
    from agentsim.tuning.tune_verification import verify_settings

    file = settings_file(scope)
    application = kept_for(file)
    if application is None:
        raise Failure(
            "nothing of 'agentsim tune --apply' is in it", file=file, remedy="see --scope", code=ExitCode.USAGE
        )
    problems: list[Problem] = []
    sessions = sessions_since(paths, None, problems)
    try:
        verification = verify_settings(sessions, application)
    except CannotTune as error:
        raise Failure(str(error), remedy="work on, and ask again later") from None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.tune_json import verification_document

        write_document(sys.stdout, verification_document(verification))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.tune_page import write_verification

        write_verification(Paper.on(sys.stdout), verification)
    skips = tell_skips(sessions, problems, strict)
    if skips is not ExitCode.OK:
        return skips
    return ExitCode.FINDINGS if verification.should_undo else ExitCode.OK
