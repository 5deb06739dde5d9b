"""``agentsim fleet watch``: has anything become worse?"""

from __future__ import annotations

import sys
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, Command, json_option
from agentsim.fleet.fleet_dimensions import WATCHED_BY
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim fleet watch ~/.claude/projects", "The last seven days against the four weeks before."),
    ("agentsim fleet watch fleet/ --days 1 --periods 14 --by version", "Yesterday, by version, from a sweep."),
    (
        "agentsim fleet watch fleet/ --prometheus /var/lib/node_exporter/agentsim.prom",
        "For a dashboard.",
    ),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Tell when a fleet began to lose more of its cache.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FILE)
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="Days of a period.")
@click.option("--periods", type=click.IntRange(1, 100), default=4, show_default=True, help="Periods to compare with.")
@click.option(
    "--until", metavar="DATE", help="The last day of the last period.  [default: the last day with a session]"
)
@click.option("--by", multiple=True, type=click.Choice(WATCHED_BY), help="Look at each value of this; repeatable.")
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="The smallest change that is flagged, as a share of all input tokens.",
)
@click.option("--team", metavar="REGEX", help="With logs: whose a log is, the first group of this in its path.")
@click.option("--prometheus", metavar="FILE", type=FILE, help="Write gauges for Prometheus's text file collector.")
@json_option
def command(
    paths: tuple[str, ...],
    days: int,
    periods: int,
    until: str | None,
    by: tuple[str, ...],
    least: float,
    team: str | None,
    prometheus: str | None,
    as_json: bool,
) -> ExitCode:
    """Compare what the last period lost to the cache with the periods before: over all, and by version of the harness,
    model and lifetime.

    A group is flagged when its share of lost input tokens changed beyond what its sessions vary by (99 % of resamples)
    and by at least --least. The exit code is 1 when anything became worse. PATH is the folder of a sweep, or logs.
    """
    from agentsim.commands.options.fleet_input import seen_or_told, swept
    from agentsim.fleet.regression_watch import watch
    from agentsim.report.notices import tell_problems
    from agentsim.report.output import STDOUT, check_targets, output, write_safe

    check_targets(("--prometheus", prometheus), ("--json", STDOUT if as_json else None))
    problems: list[Problem] = []
    end = _day(until)
    dimensions = tuple(dict.fromkeys(by)) or ("harness", "version", "model", "tier")
    with swept(paths, (), team, problems) as folder:
        seen = seen_or_told(
            lambda: watch(folder, days=days, periods=periods, until=end, by=dimensions, least=least),
            paths[0],
            problems,
            "name more logs, or other --days",
        )
    if prometheus is not None:
        from agentsim.report.ci.prometheus import prometheus_text

        with output(prometheus) as stream:
            write_safe(stream, prometheus_text(seen))
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.watch_json import watch_document

        write_document(sys.stdout, watch_document(seen))
    elif prometheus != STDOUT:  # the gauges stand alone
        from agentsim.report.paper import Paper
        from agentsim.report.screen.watch_page import write_watch

        write_watch(Paper.on(sys.stdout), seen)
    tell_problems(problems)
    return ExitCode.FINDINGS if seen.worse else ExitCode.OK


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        raise Failure(f"--until: {text[:40]} is no date", remedy="as in 2026-01-31", code=ExitCode.USAGE) from None
