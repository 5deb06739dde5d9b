"""``agentsim diff``: what a change of prompt, tools or harness did to the bill."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agentsim.commands.options.budget_options import config_option, limit_options
from agentsim.commands.options.command import LOG, Command, all_option, json_option, session_option, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode

if TYPE_CHECKING:
    from agentsim.budget.budget_gate import Gate
    from agentsim.budget.budget_limits import Budget
    from agentsim.budget.recording_changes import Changes
    from agentsim.budget.recordings import Recording
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim diff before.jsonl after.jsonl", "The bill's difference, request by request."),
    ("agentsim diff before.jsonl after.jsonl --max-growth 5%", "Exit code 1 if the cost grew by more."),
    ("agentsim diff before.jsonl after.jsonl --json | jq .more", "The same for programs."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Compare two recordings, request by request.")
@click.argument("old", metavar="OLD", type=LOG)
@click.argument("new", metavar="NEW", type=LOG)
@json_option
@all_option("show requests that came out the same, too")
@session_option
@config_option
@limit_options
@strict_option
@rules_option
def command(
    old: str,
    new: str,
    as_json: bool,
    every: bool,
    session_id: str | None,
    config: str | None,
    strict: bool,
    **limits: Any,
) -> ExitCode:
    """Compare NEW with OLD: recordings of the same work before and after a change of prompt, tools or harness.

    Requests are aligned in their order within each lane. A row shows what was written, read and paid before and after;
    under it stand the block at which the new prompt parts from the old one, and why the new recording lost its cache.
    Budgets are those of the options, and of a configuration that is named; they are judged on NEW, and growth is
    measured from OLD.
    """
    from agentsim.budget.recording_changes import compare
    from agentsim.commands.options.budget_options import budget_of, load
    from agentsim.commands.options.session_inputs import tell_skips
    from agentsim.diagnose import diagnose

    own = budget_of(limits)
    loaded = load(config) if config is not None else None
    budgets = (*(loaded.budgets if loaded is not None else ()), *((own,) if own is not None else ()))
    problems: list[Problem] = []
    before, after = (_one(path, session_id, problems) for path in (old, new))
    changes = compare(diagnose(before.session), diagnose(after.session))
    root = loaded.root if loaded is not None else "."
    gate = _gate(before, after, changes, budgets, root) if budgets else None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.changes_json import diff_document

        write_document(sys.stdout, diff_document(changes, gate, before.files, after.files))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.changes_page import write_diff

        write_diff(Paper.on(sys.stdout), changes, gate.results if gate is not None else (), all_rows=every)
    skips = tell_skips([before.session, after.session], problems, strict)
    if gate is None:
        return skips
    from agentsim.report.json.gate_json import EXITS

    return EXITS[gate.outcome] or skips


def _one(path: str, wanted: str | None, problems: list[Problem]) -> Recording:
    """The session of a recording. Raises Failure when there is none, or no telling which."""
    from agentsim.budget.recordings import read_recordings
    from agentsim.commands.options.session_inputs import check_path, choose_session
    from agentsim.report.exits import Failure

    check_path(path)
    found: list[Problem] = []
    recordings = list(read_recordings([path], found))
    if not recordings:
        first = found[0] if found else None
        if first is None:
            raise Failure("no session in here", file=path, remedy="'agentsim trace formats' lists what can be read")
        raise Failure(first.reason, file=first.file, line=first.line, remedy=first.remedy)
    problems += found
    session = choose_session([recording.session for recording in recordings], wanted)
    return next(recording for recording in recordings if recording.session is session)


def _gate(old: Recording, new: Recording, changes: Changes, budgets: tuple[Budget, ...], root: str) -> Gate:
    """Budgets on the new recording, with the old one as the baseline of its growth."""
    from agentsim.budget.budget_judging import judge
    from agentsim.budget.file_globs import relative_path
    from agentsim.budget.session_measures import measure

    key = f"{relative_path(new.files[0], root)}#{new.session.id}"
    return judge([new], budgets, root=root, baseline={key: measure(changes.old)}, all_must_match=False)
