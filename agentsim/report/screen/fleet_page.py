"""A fleet on a screen: what it costs, what it loses, and what each policy would have saved."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from shlex import quote
from typing import TYPE_CHECKING

from agentsim.core.dates import SECOND
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.fleet.fleet_figures import FleetFigures, FleetGroup, PolicyLine
    from agentsim.fleet.sweep import Sweep

POLICY_COLUMNS = (
    TableColumn("policy", "<", 9, 24),
    TableColumn("sessions", ">", 3),
    TableColumn("cost", ">", 6),
    TableColumn("saves", ">", 8),
    TableColumn("95 % of resamples", ">", 5),
    TableColumn("time", ">", 4),
    TableColumn("", "<", 2),
)
GROUP_COLUMNS = (
    TableColumn("", "<", 9, 20),
    TableColumn("requests", ">", 3),
    TableColumn("cost", ">", 5),
    TableColumn("misses", ">", 4),
    TableColumn("tokens lost", ">", 5),
    TableColumn("lost", ">", 8),
    TableColumn("of the loss", ">", 6),
)
_MOST = 10
_TITLES = {"cause": "By cause", "version": "By version of the harness", "project": "By project", "team": "By team"}


def write_sweep(paper: Paper, sweep: Sweep, found: FleetFigures) -> None:
    """Write what a sweep found, and where the rest of it lies."""
    done, before = len(sweep.notes), sweep.done_before
    text = f" · {figures.plural(done, 'shard')}" + (f", {before:,} of them from before" if before else "")
    paper.paragraph((figures.plural(found.sessions, "session"), Style.STRONG), text)
    paper.line()
    write_figures(paper, found)
    paper.line()
    paper.paragraph((f"agentsim fleet report {quote(sweep.folder)} --html report.html draws it.", Style.FAINT))


def write_figures(paper: Paper, found: FleetFigures) -> None:
    """Write the figures of a fleet: sums, policies, losses by cause and other dimensions."""
    total = found.total
    hit = figures.per_cent(total.read, sum(n or 0 for n in (total.read, total.written, total.fresh)))
    spread = "" if found.low is None else f"; {interval(found.low, found.high)} in 95 % of resamples"
    paper.line(
        "  cost  ",
        (dollars(total.cost), Style.STRONG),
        f"  {figures.plural(total.requests or 0, 'request')}, hit rate {hit} %",
    )
    paper.line(
        "  lost  ",
        (dollars(total.lost_cost), Style.STRONG),
        f"  {figures.plural(total.misses, 'miss', 'misses')}" + spread,
    )
    if total.unpriced:
        paper.line((f"  {figures.plural(total.unpriced, 'request')} not priced, and not in the cost", Style.WARN))
    _concentration(paper, found)
    _policies(paper, found)
    for dimension, title in _TITLES.items():
        groups = found.groups(dimension)
        if dimension == "cause" or len(groups) > 1:
            _groups(paper, title, groups, total.lost_cost)


def dollars(amount: Decimal | None) -> str:
    """A sum of dollars, to the cent."""
    if amount is None:
        return figures.UNKNOWN
    text = f"{abs(amount):,.2f}"
    return f"-${text}" if amount < 0 and text != "0.00" else f"${text}"


def interval(low: float | None, high: float | None) -> str:
    """Two ends of an interval in dollars."""
    if low is None or high is None:
        return figures.UNKNOWN
    return f"{dollars(Decimal(low))} – {dollars(Decimal(high))}"


def _concentration(paper: Paper, found: FleetFigures) -> None:
    spread = found.concentration
    if spread.half:
        share = figures.per_cent(spread.half, spread.sessions, 1)
        paper.line(f"        half of it in {figures.plural(spread.half, 'session')} ({share} %)")


def _policies(paper: Paper, found: FleetFigures) -> None:
    lines = [line for line in found.policies if line.applied or line.policy == "recorded"]
    idle = len(found.policies) - len(lines)
    paper.line()
    paper.line(("Policies", Style.STRONG))
    if not lines:
        paper.line("  No session could be simulated.")
    else:
        write_table(paper, POLICY_COLUMNS, [_policy(line) for line in lines], indent=2)
    if idle:
        paper.line((f"  {figures.plural(idle, 'policy', 'policies')} had nothing to do", Style.FAINT))
    reasons = [(reason, count) for reason, count in found.left_out if count]
    if found.withheld:
        reasons.append(("the simulation explains less than 90 % of its tokens", found.withheld))
    if reasons:
        out = figures.plural(sum(count for _, count in reasons), "session")
        paper.line((f"  {out} left out of this; of each holds:", Style.WARN))
    for reason, count in sorted(reasons, key=lambda one: -one[1]):
        paper.paragraph(reason, first=[f"  {count:>6,}  "], rest=[" " * 10])


def _policy(line: PolicyLine) -> list[Span]:
    style = Style.GOOD if (line.low or 0) > 0 else Style.BAD if (line.high or 0) < 0 else Style.PLAIN
    recorded = line.policy == "recorded"
    return [
        "as recorded" if recorded else line.policy,
        figures.count(line.sessions if recorded else line.applied),
        dollars(line.cost),
        figures.UNKNOWN if recorded else (dollars(line.saving), style),
        figures.UNKNOWN if recorded else interval(line.low, line.high),
        figures.span(round(line.seconds) * SECOND),
        f"refused in {line.refused:,}" if line.refused else "",
    ]


def _groups(paper: Paper, title: str, groups: Sequence[FleetGroup], whole: Decimal | None) -> None:
    shown = [group for group in groups if group.misses][:_MOST]
    if not shown:
        return
    paper.line()
    paper.line((title, Style.STRONG))
    rows: list[list[Span]] = [
        [
            group.name or "(none)",
            figures.count(group.requests),
            dollars(group.cost),
            figures.count(group.misses),
            figures.count(group.lost),
            dollars(group.lost_cost),
            figures.UNKNOWN if group.lost_cost is None or not whole else f"{group.lost_cost * 100 / whole:.1f} %",
        ]
        for group in shown
    ]
    columns = list(GROUP_COLUMNS)
    if title == _TITLES["project"]:
        columns[0] = columns[0]._replace(cut="start")  # folders of one machine begin alike
    if all(group.requests is None for group in shown):
        columns = [columns[0], *columns[3:]]
        rows = [[row[0], *row[3:]] for row in rows]
    write_table(paper, columns, rows, indent=2)
    more = sum(bool(group.misses) for group in groups) - len(shown)
    if more > 0:
        paper.line((f"  and {more:,} more", Style.FAINT))
