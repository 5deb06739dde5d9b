"""``agentsim tune``: which settings would have saved most, and writing them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, json_option, paths_argument, strict_option
from agentsim.commands.options.guard_options import agreed, scope_option, show_difference, yes_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem
    from agentsim.guard.installation import Scope
    from agentsim.tuning.tune_choice import TuneProposal

EXAMPLES = (
    ("agentsim tune", "The settings that fit your own sessions, and what they will save."),
    ("agentsim tune --since 60d --apply", "From the last 60 days; show the difference, ask, and write it."),
    ("agentsim tune verify", "Later: what was predicted, and what was measured."),
    ("agentsim tune undo", "The settings as they were."),
)


@click.command(
    cls=Command, examples=EXAMPLES, short_help="Choose settings from recorded sessions (what 'tune' alone does)."
)
@paths_argument(required=False)
@click.option(
    "--since", metavar="DATE", default="60d", show_default=True, help="Only sessions that began from this day on."
)
@click.option(
    "--hold-out",
    type=click.IntRange(5, 50),
    default=25,
    show_default=True,
    help="The newest so many per cent of the sessions choose nothing: the choice is held against them.",
)
@click.option("--apply", "write", is_flag=True, help="Write the settings, after showing the difference.")
@scope_option
@yes_option
@json_option
@strict_option
@rules_option
def command(
    paths: tuple[str, ...],
    since: str,
    hold_out: int,
    write: bool,
    scope: Scope,
    yes: bool,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Choose the settings that would have saved most, and say what they will save.

    Lifetimes and compaction are tried by simulation on your own sessions: chosen on the older ones, held against the
    newest. The saving is told with the interval in which nine of ten such stretches of work will lie, or not at all.
    Without PATH it reads the logs of the harness whose settings can be written, Claude Code.

    With --apply the settings are written; nothing else in the file changes, and 'agentsim tune undo' takes them out.
    Exit code 1: nothing is proposed.
    """
    from agentsim.commands.options.session_inputs import tell_skips
    from agentsim.commands.options.tuned_sessions import sessions_since
    from agentsim.report.progress import ProgressBar
    from agentsim.tuning.tune_choice import CannotTune, choose_settings

    if write and as_json:
        raise Failure("--apply and --json exclude each other", remedy="choose one", code=ExitCode.USAGE)
    problems: list[Problem] = []
    sessions = sessions_since(paths, since, problems)
    try:
        with ProgressBar("trying settings") as progress:
            proposal = choose_settings(sessions, held_out=hold_out, progress=progress)
    except CannotTune as error:
        raise Failure(str(error), remedy="'agentsim compare PATH' tells what can be said of each") from None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.tune_json import proposal_document

        write_document(sys.stdout, proposal_document(proposal))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.tune_page import write_proposal

        write_proposal(Paper.on(sys.stdout), proposal)
    skips = tell_skips(sessions, problems, strict)
    if write and proposal.chosen:
        _apply(proposal, scope, yes)
    if skips is not ExitCode.OK:
        return skips
    return ExitCode.OK if proposal.chosen else ExitCode.FINDINGS


def _apply(proposal: TuneProposal, scope: Scope, yes: bool) -> None:
    """Write what was chosen, and keep what it replaces and what was predicted. Raises Failure."""
    from agentsim.guard.installation import settings_file
    from agentsim.guard.settings_text import BadSettings
    from agentsim.report.paper import Paper
    from agentsim.tuning.kept_applications import KeptApplication, forget, keep, kept_for
    from agentsim.tuning.tunable_setting import flat
    from agentsim.tuning.written_settings import plan_settings, values_before, write_settings

    assert proposal.predicted is not None
    file = settings_file(scope)
    settings: dict[str, object] = {}
    for one in proposal.chosen:
        settings |= one.setting.settings
    if kept_for(file) is not None:
        raise Failure(
            "settings of an earlier 'tune --apply' are in it",
            file=file,
            remedy="'agentsim tune verify' tells what they saved, 'agentsim tune undo' takes them out",
            code=ExitCode.USAGE,
        )
    try:
        plan = plan_settings(file, settings)
        before = values_before(file, settings)
    except BadSettings as error:
        raise Failure(str(error), file=file, remedy="mend the file first; nothing was written") from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise Failure(reason, file=file, remedy="check that it is a file you may read") from None
    if not plan.changes:
        Paper.on(sys.stdout).paragraph(f"{file}: the settings are there already; nothing was written")
        return
    show_difference(plan)
    if not agreed(yes):
        return
    keep(
        KeptApplication(
            file=file,
            harness=proposal.harness,
            time=time.time_ns(),
            written=dict(flat(settings)),
            before=before,
            missing=plan.before is None,
            policies=tuple(one.setting.policy for one in proposal.chosen),
            lifetimes=proposal.lifetimes,
            predicted=proposal.predicted,
            sessions=proposal.older + proposal.newer,
            first=proposal.first,
            last=proposal.last,
        )
    )
    try:
        write_settings(plan)
    except OSError as error:
        forget(file)
        reason = error.strerror or "cannot be written"
        raise Failure(reason, file=file, remedy="check that you may write it; nothing was changed") from None
    Paper.on(sys.stdout).paragraph(
        f"{file}: written; 'agentsim tune verify' tells later what it saved, 'agentsim tune undo' takes it out"
    )
