"""A summary by group on a screen: a line for each day, week, model and so on, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.fleet.summary.grouped import GroupedSummary, GroupSums


def write_groups(paper: Paper, summary: GroupedSummary) -> None:
    """Write the groups and their total. What is not known is a dash, never 0."""
    columns = (
        TableColumn("week from" if summary.by == "week" else summary.by or "", "<", 9, 10),
        TableColumn("requests", ">", 7),
        TableColumn("input", ">", 5),
        TableColumn("hit %", ">", 7),
        TableColumn("cost", ">", 9),
        TableColumn("not priced", ">", 2),
        TableColumn("misses", ">", 4),
        TableColumn("lost", ">", 8),
    )
    lines = [*summary.groups, summary.total]
    cost_places = figures.places_for(line.cost for line in lines)
    lost_places = figures.places_for(line.lost_cost for line in lines)

    def cells(name: str, line: GroupSums) -> list[Span]:
        return [
            name,
            figures.count(line.requests),
            figures.count(line.input),
            figures.per_cent(line.read, line.input) if line.input else figures.UNKNOWN,
            figures.UNKNOWN if line.cost is None else figures.money(line.cost, cost_places),
            figures.count(line.unpriced + line.bare),
            figures.count(line.misses),
            figures.UNKNOWN if line.lost_cost is None else figures.money(line.lost_cost, lost_places),
        ]

    rows = [cells(line.name or figures.UNKNOWN, line) for line in summary.groups]
    write_table(paper, columns, [*rows, cells("total", summary.total)])
    paper.line()
    words = "Days are in UTC; each request stands where it was answered."
    if summary.since is not None or summary.until is not None:
        first = f" from {summary.since}" if summary.since is not None else ""
        words += f" Only requests{first}{f' until {summary.until}' if summary.until is not None else ''}."
    paper.paragraph((words, Style.FAINT))
    if summary.undated:
        paper.paragraph((f"Without a date, and left out: {figures.plural(summary.undated, 'request')}", Style.WARN))
