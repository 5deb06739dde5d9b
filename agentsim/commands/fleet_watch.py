"""``agentsim fleet watch``: has anything become worse?"""

from __future__ import annotations

import sys
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, LOG, Command, json_option, strict_option
from agentsim.fleet.fleet_dimensions import WATCHED_BY
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsim.core.session import Problem
    from agentsim.fleet.open_regressions import OpenRegression
    from agentsim.fleet.regression_watch import GroupChange, Reference

EXAMPLES = (
    ("agentsim fleet watch ~/.claude/projects", "The last seven days against the four weeks before."),
    ("agentsim fleet watch fleet/ --days 1 --periods 14 --by version", "Yesterday, by version, from a sweep."),
    (
        "agentsim fleet watch fleet/ --against version=2.1.200",
        "Against a version that was good, whenever it ran.",
    ),
    (
        "agentsim fleet watch fleet/ --prometheus /var/lib/node_exporter/agentsim.prom",
        "For a dashboard.",
    ),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Tell when a fleet began to lose more of its cache.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=LOG)
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
@click.option(
    "--against",
    metavar="WHAT",
    help="Hold the last period against FIRST..LAST (days), version=NAME, or the others of the same days.",
)
@click.option("--acknowledge", metavar="GROUP", multiple=True, help="No longer tell this regression; repeatable.")
@click.option("--team", metavar="REGEX", help="With logs: whose a log is, the first group of this in its path.")
@click.option("--prometheus", metavar="FILE", type=FILE, help="Write gauges for Prometheus's text file collector.")
@json_option
@strict_option
def command(
    paths: tuple[str, ...],
    days: int,
    periods: int,
    until: str | None,
    by: tuple[str, ...],
    least: float,
    against: str | None,
    acknowledge: tuple[str, ...],
    team: str | None,
    prometheus: str | None,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Compare what the last period lost to the cache with the periods before: over all, and by version of the harness,
    model and lifetime.

    A group is flagged when its share of lost input tokens changed beyond what its sessions vary by (a chance of 1 % for
    all values of a dimension) and by at least --least. The exit code is 1 when anything became worse. PATH is the
    folder of a sweep, or logs. In a sweep's folder a regression is told each time, until it is gone or acknowledged.
    """
    from agentsim.commands.options.fleet_input import seen_or_told, swept
    from agentsim.fleet.open_regressions import keep_open, look_again, read_open, words_of
    from agentsim.fleet.regression_watch import watch
    from agentsim.report.notices import tell_problems
    from agentsim.report.output import STDOUT, check_targets, output, write_safe

    check_targets(("--prometheus", prometheus), ("--json", STDOUT if as_json else None))
    problems: list[Problem] = []
    end = _day(until)
    reference = _reference(against)
    dimensions = tuple(dict.fromkeys(by)) or ("harness", "version", "model", "tier")
    with swept(paths, (), team, problems) as folder:
        lasts = folder == paths[0]
        if acknowledge and not lasts:
            reason = "--acknowledge: only the folder of a sweep remembers"
            raise Failure(reason, file=paths[0], remedy="see 'agentsim fleet sweep'", code=ExitCode.USAGE)
        seen = seen_or_told(
            lambda: watch(folder, days=days, periods=periods, until=end, by=dimensions, least=least, against=reference),
            paths[0],
            problems,
            "name more logs, or other --days",
        )
        known = read_open(folder) if lasts else ()
        states = look_again(folder, known, seen, days=days, least=least)
        if lasts and reference is None:
            _check_acknowledged(acknowledge, known, seen.worse)
            try:
                keep_open(folder, known, seen, states, acknowledge)
            except OSError as error:
                raise Failure(
                    error.strerror or str(error), file=folder, remedy="check that it can be written"
                ) from None
        states = tuple(one for one in states if words_of(*one.regression.key) not in acknowledge)
    if prometheus is not None:
        from agentsim.report.ci.prometheus import prometheus_text

        with output(prometheus) as stream:
            write_safe(stream, prometheus_text(seen))
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.watch_json import watch_document

        write_document(sys.stdout, watch_document(seen, states))
    elif prometheus != STDOUT:  # the gauges stand alone
        from agentsim.report.paper import Paper
        from agentsim.report.screen.watch_page import write_watch

        write_watch(Paper.on(sys.stdout), seen, states)
    tell_problems(problems)
    if strict and any(not problem.note for problem in problems):
        return ExitCode.UNREADABLE
    worse = [change for change in seen.worse if words_of(change.dimension, change.name) not in acknowledge]
    return ExitCode.FINDINGS if worse or any(one.state == "open" for one in states) else ExitCode.OK


def _check_acknowledged(
    acknowledged: tuple[str, ...], known: Sequence[OpenRegression], worse: Sequence[GroupChange]
) -> None:
    """Raise Failure for a group that is not open."""
    from agentsim.fleet.open_regressions import words_of

    groups = {words_of(*one.key) for one in known} | {words_of(one.dimension, one.name) for one in worse}
    for name in acknowledged:
        if name not in groups:
            remedy = f"one of: {', '.join(sorted(groups))}" if groups else "there is none"
            raise Failure(
                f"--acknowledge: no open regression is called {name[:60]!r}", remedy=remedy, code=ExitCode.USAGE
            )


def _reference(text: str | None) -> Reference | None:
    from agentsim.fleet.regression_watch import Reference

    if text is None:
        return None
    first, dots, last = text.partition("..")
    if dots:
        span = (_day(first, "--against"), _day(last, "--against"))
        if span[0] is not None and span[1] is not None and span[0] <= span[1]:
            return Reference(days=(span[0], span[1]))
    elif text.startswith("version=") and len(text) > len("version="):
        return Reference(version=text.removeprefix("version="))
    elif text == "others":
        return Reference(others=True)
    remedy = "2026-08-01..2026-08-28, version=2.1.200, or others"
    raise Failure(f"--against: {text[:60]} is none of what it can be", remedy=remedy, code=ExitCode.USAGE)


def _day(text: str | None, option: str = "--until") -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        raise Failure(f"{option}: {text[:40]} is no date", remedy="as in 2026-01-31", code=ExitCode.USAGE) from None
