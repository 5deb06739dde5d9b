"""``agentsim rules calibrate``: fit a provider's rules to one's own logs."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, json_option, output_option, paths_argument, strict_option
from agentsim.core.dates import has_date
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem, Session
    from agentsim.trust.calibrate import CalibratedRules

EXAMPLES = (
    ("agentsim rules calibrate ~/.codex/sessions", "Which lifetime, and which steps, do my returns show?"),
    ("agentsim rules calibrate ~/.claude/projects -o mine.toml", "Write what differs from the bundled rules."),
    ("agentsim compare session.jsonl --rules mine.toml", "Use it."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Fit a provider's lifetimes and steps to your own logs.")
@paths_argument()
@output_option("a rules file with what was fitted")
@click.option("--provider", metavar="NAME", help="Only this provider; -o writes one.  [default: the most returns]")
@json_option
@strict_option
def command(paths: tuple[str, ...], target: str | None, provider: str | None, as_json: bool, strict: bool) -> ExitCode:
    """Fit lifetime, step, base prefix and retention to returns in the logs at and under the PATHs.

    A return is a request that could have read what the one before it left. Where history, settings or the model
    changed, its loss says nothing of time and it is left out. Every figure comes with how well it fits. What agrees
    with the bundled rules is not written to the FILE.
    """
    from agentsim.commands.options.session_inputs import read_sessions, tell_skips
    from agentsim.report.output import STDOUT, check_targets
    from agentsim.trust.calibrate import fit, returns_of

    check_targets(("--output", target), ("--json", STDOUT if as_json else None))
    problems: list[Problem] = []
    sessions = read_sessions(paths, problems)
    found = fit(returns_of(sessions))
    there = [one.provider for one in found]
    if provider is not None:
        found = tuple(one for one in found if one.provider == provider)
    if not found:
        tell_skips(sessions, problems, strict)
        what = "no request comes back to a prompt" + (f" at {provider}" if provider else "")
        remedy = f"choose among {', '.join(there)}" if there else "name more logs"
        raise Failure(f"{what} that was kept or lost", file=paths[0], remedy=remedy)
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.calibration_page import calibration_document

        write_document(sys.stdout, calibration_document(found))
    elif target != STDOUT:  # the rules stand alone
        from agentsim.report.paper import Paper
        from agentsim.report.screen.calibration_page import write_calibration

        write_calibration(Paper.on(sys.stdout), found)
    if target is not None:
        _write(found[0], sessions, target)
    return tell_skips(sessions, problems, strict)


def _last_day(sessions: list[Session]) -> date | None:
    """The last day of the logs; ``None`` where their times count from their own beginning."""
    starts = [request.start for session in sessions for request in session.requests if request.start is not None]
    last = max((start for start in starts if has_date(start)), default=None)
    return None if last is None else datetime.fromtimestamp(last // 10**9, UTC).date()


def _write(found: CalibratedRules, sessions: list[Session], target: str) -> None:
    from agentsim.report.notices import warn
    from agentsim.report.output import STDOUT, output, write_safe
    from agentsim.rules.providers.rules_library import load_rules
    from agentsim.trust.calibrate.fitted_rules_file import override

    try:
        text = override(found, _last_day(sessions) or load_rules(found.provider).read_until)
    except ValueError as error:
        warn(f"{'nothing' if target == STDOUT else target} was not written: {error}")
        return
    with output(target) as stream:
        write_safe(stream, text)
