"""``agentsim summary``: what many sessions cost, and what they lost to the cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, content_option, json_option, paths_argument, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.fleet.summary import Summary

EXAMPLES = (
    ("agentsim summary", "Every session on this machine, of any harness."),
    ("agentsim summary ~/.claude/projects/my-project", "The sessions of one project."),
    ("agentsim summary ~/.codex/sessions captures/", "Logs of any format, each request counted once."),
    ("agentsim summary --top 20", "Longer lists of the worst sessions and misses."),
    ("agentsim summary --since 30d --by day", "The last 30 days, a line each (days in UTC)."),
    ("agentsim summary --json | jq .losses", "Losses by cause, for programs."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what all sessions cost, and what the cache lost.")
@paths_argument(required=False)
@json_option
@click.option(
    "--top", type=click.IntRange(0, 1000), default=5, show_default=True, help="How many of the worst to list."
)
@click.option(
    "--by",
    type=click.Choice(["day", "week", "month", "model", "project", "harness", "version", "branch", "agent"]),
    help="A table with a line for each of these instead of the page. Days, weeks and months are in UTC.",
)
@click.option("--since", metavar="DATE", help="Only requests from this day on (UTC): 2026-01-31, or 30d for 30 days.")
@click.option("--until", metavar="DATE", help="Only requests up to this day and on it (UTC).")
@content_option
@click.option("--quick", is_flag=True, help='Read no session whole: without "Do this", leads and row numbers.')
@click.option("--workers", type=click.IntRange(1, 256), help="Processes to read with.  [default: one a core]")
@strict_option
@rules_option
def command(
    paths: tuple[str, ...],
    as_json: bool,
    top: int,
    by: str | None,
    since: str | None,
    until: str | None,
    content: bool,
    quick: bool,
    workers: int | None,
    strict: bool,
) -> ExitCode:
    """Sum up sessions: cost, hit rate, losses by cause, the worst sessions and the worst misses.

    The page ends in "Do this": at most three settings of the harness that would have saved most, each simulated over
    these sessions, with the command that shows the proof.

    Logs of any format will do (see 'agentsim trace formats'). Without PATH it reads the logs of every harness on
    this machine, which 'agentsim' alone lists: Claude Code, Codex, Pi, OpenCode, Gemini CLI, Qwen Code, Kimi,
    OpenHands, mini-swe-agent, Copilot CLI, Cline, Roo Code, Kilo Code and Crush.
    """
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.fleet.summary import summarise
    from agentsim.report.notices import tell_problems
    from agentsim.report.progress import ProgressBar
    from agentsim.traces.harness_places import found_places

    where = list(paths) or [place.path for place in found_places()]
    if not where:
        raise Failure(
            "no logs of a harness on this machine",
            remedy="looked where docs/formats.md says that each keeps them; name a file or folder",
        )
    for path in where:
        check_path(path)
    if by is not None or since is not None or until is not None:
        return _by_group(where, by, since, until, as_json, strict)
    try:
        with ProgressBar("reading logs") as progress:
            summary = summarise(where, workers=workers, progress=progress, worst=top, meanwhile=_get_ready)
    except OSError as error:
        raise unreadable(error, where[0]) from error
    if not summary.sessions:
        tell_problems(summary.problems)
        raise Failure("no session in here", file=where[0], remedy="'agentsim trace formats PATH' tells what it is")
    summary = named(summary)
    advice = leads = None
    if not quick:
        from agentsim.fleet.summary.repeated_losses import leads_of
        from agentsim.fleet.summary.session_study import studies_of, with_rows
        from agentsim.fleet.summary.worth_setting import worth_setting

        with ProgressBar("simulating settings", unit="session") as progress:
            studies = studies_of(summary.by_loss, progress)
        advice = worth_setting(studies, len(summary.by_loss))
        leads = leads_of(summary, {study.session: study.marks for study in studies})
        summary = with_rows(summary, studies)
    if as_json:
        from agentsim.report.json.canonical_json import summary_document, write_document

        write_document(sys.stdout, summary_document(summary, advice, leads))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.summary_page import write_summary

        write_summary(Paper.on(sys.stdout), summary, advice, where, content=content, leads=leads)
    tell_problems(summary.problems, [summary.accounting])
    if strict and (any(not problem.note for problem in summary.problems) or summary.accounting.skipped):
        return ExitCode.UNREADABLE
    return ExitCode.OK


def named(summary: Summary) -> Summary:
    """The summary with the project of each of the worst sessions as its log tells it: where it ran, and the branch."""
    from msgspec.structs import replace

    from agentsim.traces.session_names import look_up

    lines = [
        replace(line, project=look_up(line.files, line.session).place or line.project)
        for line in summary.worst_sessions
    ]
    return replace(summary, worst_sessions=tuple(lines))


def _get_ready() -> None:
    """Import what the report will need."""
    import agentsim.diagnose.cause_registry
    import agentsim.report.screen.summary_page  # noqa: F401


def _by_group(
    where: Sequence[str], by: str | None, since: str | None, until: str | None, as_json: bool, strict: bool
) -> ExitCode:
    """Write the table of a summary by group."""
    from datetime import UTC, datetime
    from typing import cast

    from agentsim.commands.options.session_inputs import unreadable
    from agentsim.fleet.summary.grouped import By, first_day, summarise_groups
    from agentsim.report.notices import tell_problems

    today = datetime.now(UTC).date()
    days = []
    for name, text in (("--since", since), ("--until", until)):
        try:
            days.append(None if text is None else first_day(text, today))
        except (ValueError, OverflowError):
            remedy = "write a day such as 2026-01-31, or 30d for the last 30 days"
            raise Failure(f"{name} {text} is no day", remedy=remedy, code=ExitCode.USAGE) from None
    first, last = days
    if first is not None and last is not None and last < first:
        raise Failure("--until lies before --since", remedy="swap them", code=ExitCode.USAGE)
    try:
        found = summarise_groups(where, by=cast("By | None", by), since=first, until=last, today=today)
    except OSError as error:
        raise unreadable(error, where[0]) from error
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.grouped_json import grouped_document

        write_document(sys.stdout, grouped_document(found))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.grouped_page import write_groups

        write_groups(Paper.on(sys.stdout), found)
    tell_problems(found.problems, found.accountings)
    skipped = any(sums.skipped for sums in found.accountings)
    if strict and (skipped or any(not problem.note for problem in found.problems)):
        return ExitCode.UNREADABLE
    return ExitCode.OK
