"""``agentsim fleet report``: a fleet's figures, as a page, a web page, or tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, LOG, Command, content_option, json_option, strict_option
from agentsim.fleet.fleet_dimensions import LOSSES_BY
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim fleet report --html report.html", "The logs on this machine as a page to hand around; needs no extra."),
    ("agentsim fleet report fleet/", "The figures of a sweep."),
    ("agentsim fleet report fleet/ --html report.html", "One web page that holds everything and loads nothing."),
    ("agentsim fleet report ~/.claude/projects --html report.html --policy ttl-1h", "Straight from logs."),
    (
        "agentsim fleet report fleet/ --csv losses.csv --by version",
        "Losses by version, for a spreadsheet.",
    ),
)
TITLE = "Prompt cache report"
MOST_LISTED = 40
"""Sessions and misses on the page of logs."""


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what a fleet loses, where, and what would save it.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=LOG)
@click.option("--html", metavar="FILE", type=FILE, help="Write a web page ('-': standard output).")
@click.option("--csv", "as_csv", metavar="FILE", type=FILE, help="Write one dimension as CSV ('-': standard output).")
@click.option("--by", type=click.Choice(LOSSES_BY), help="The dimension of --csv.  [default: cause]")
@click.option("--policy", "specs", multiple=True, metavar="NAME[:param=value,...]", help="With logs: try this policy.")
@click.option("--team", metavar="REGEX", help="With logs: whose a log is, the first group of this in its path.")
@click.option("--title", metavar="TEXT", help=f"The title of the web page.  [default: {TITLE}]")
@content_option
@json_option
@strict_option
def command(
    paths: tuple[str, ...],
    html: str | None,
    as_csv: str | None,
    by: str | None,
    specs: tuple[str, ...],
    team: str | None,
    title: str | None,
    content: bool,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Show the figures of a sweep's folder, or of logs (which are judged and simulated first, on this machine).

    With --html alone, logs become a page for one person or a few: what was lost, why, when, and what to set. That needs
    no extra. Without PATH it is the logs of every harness on this machine.

    The Parquet tables in a sweep's folder (policies, usage, misses) are for pandas and notebooks.
    """
    from agentsim.commands.options.fleet_input import policies_of, seen_or_told, swept
    from agentsim.fleet.sweep_folder import is_sweep
    from agentsim.report.output import STDOUT, check_targets, output, write_safe
    from agentsim.traces.harness_places import found_places

    for option, given, needed in (("--by", by, as_csv), ("--title", title, html)):
        if given is not None and needed is None:
            other = "--csv" if option == "--by" else "--html"
            raise Failure(f"{option} without {other}", remedy=f"add {other} FILE", code=ExitCode.USAGE)
    where = paths or tuple(place.path for place in found_places())
    if not where:
        raise Failure("no logs of a harness on this machine", remedy="name a folder of logs, or of a sweep")
    if html is not None and not (specs or team or as_csv or as_json) and not any(is_sweep(path) for path in where):
        check_targets(("--html", html))
        return _page(where, html, title or TITLE, content, strict)
    if not paths:
        raise Failure("no PATH", remedy="name a folder, or add --html FILE alone", code=ExitCode.USAGE)
    check_targets(("--html", html), ("--csv", as_csv), ("--json", STDOUT if as_json else None))
    from agentsim.fleet.fleet_figures import figures

    problems: list[Problem] = []
    with swept(paths, policies_of(specs, False), team, problems, asked=bool(specs)) as folder:
        found = seen_or_told(
            lambda: figures(folder), paths[0], problems, "'agentsim trace formats' lists what can be read"
        )
    if html is not None:
        from agentsim.report.web.fleet_html import page

        text = page(found, title or TITLE)
        with output(html) as stream:
            write_safe(stream, text)
    if as_csv is not None:
        from agentsim.report.json.fleet_csv import csv_of

        with output(as_csv) as stream:
            write_safe(stream, csv_of(found.groups(by or "cause"), by or "cause"))
    if as_json:
        from agentsim import __version__
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.fleet_json import figures_document

        envelope = {"agentsim": __version__, "report": "fleet", "version": 1}
        write_document(sys.stdout, {**envelope, **figures_document(found)})
    elif html is None and as_csv is None:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.fleet_page import write_figures

        write_figures(Paper.on(sys.stdout), found)
    from agentsim.report.notices import tell_problems

    tell_problems(problems)
    return ExitCode.UNREADABLE if strict and any(not problem.note for problem in problems) else ExitCode.OK


def _page(where: Sequence[str], html: str, title: str, content: bool, strict: bool) -> ExitCode:
    """Write the web page of logs, which needs no extra."""
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.fleet.summary import summarise
    from agentsim.fleet.summary.grouped import summarise_groups
    from agentsim.fleet.summary.repeated_losses import leads_of
    from agentsim.fleet.summary.session_study import studies_of, with_rows
    from agentsim.fleet.summary.worth_setting import worth_setting
    from agentsim.report.notices import tell_problems
    from agentsim.report.output import output, write_safe
    from agentsim.report.progress import ProgressBar
    from agentsim.report.web.sessions_html import page

    for path in where:
        check_path(path)
    try:
        with ProgressBar("reading logs") as progress:
            summary = summarise(where, progress=progress, worst=MOST_LISTED)
        days = summarise_groups(where, by="day")
    except OSError as error:
        raise unreadable(error, where[0]) from error
    if not summary.sessions:
        tell_problems(summary.problems)
        raise Failure("no session in here", file=where[0], remedy="'agentsim trace formats PATH' tells what it is")
    with ProgressBar("simulating settings", unit="session") as progress:
        studies = studies_of(summary.by_loss, progress)
    advice = worth_setting(studies, len(summary.by_loss))
    leads = leads_of(summary, {study.session: study.marks for study in studies})
    summary = with_rows(summary, studies)
    with output(html) as stream:
        write_safe(stream, page(summary, days, advice, title, where, content=content, leads=leads))
    tell_problems(summary.problems, [summary.accounting])
    skipped = summary.accounting.skipped or any(not problem.note for problem in summary.problems)
    return ExitCode.UNREADABLE if strict and skipped else ExitCode.OK
