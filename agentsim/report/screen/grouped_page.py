"""A summary by group on a screen: a line for each day, week, model and so on, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.report.verdict_words import cause_title

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
    _against(paper, summary)
    if summary.undated:
        paper.paragraph((f"Without a date, and left out: {figures.plural(summary.undated, 'request')}", Style.WARN))


def _against(paper: Paper, summary: GroupedSummary) -> None:
    """What changed against the time before, and which cause grew most."""
    before, now = summary.before, summary.total
    if before is None or summary.days is None:
        return
    paper.line()
    paper.line((f"Against the {figures.plural(summary.days, 'day')} before", Style.STRONG))
    if not before.requests:
        paper.line("  No requests then.")
        return
    rows: list[list[Span]] = [["requests", figures.count(before.requests), figures.count(now.requests), ""]]
    rows += [
        [name, _money(then), _money(later), _more(then, later)]
        for name, then, later in (("cost", before.cost, now.cost), ("lost", before.lost_cost, now.lost_cost))
    ]
    columns = (TableColumn("", "<", 9), TableColumn("before"), TableColumn("now"), TableColumn("change"))
    write_table(paper, columns, rows, indent=2)
    grown = summary.causes[0] if summary.causes else None
    if grown is not None and grown.lost_cost > grown.lost_cost_before:
        text = f"{grown.cause} {cause_title(grown.cause)}: {_money(grown.lost_cost_before)} then, "
        text += f"{_money(grown.lost_cost)} now."
        paper.paragraph(("Grew most: ", Style.STRONG), text, first=["  "], rest=["  "])


def _money(pico: int | None) -> str:
    return figures.UNKNOWN if pico is None else figures.money(pico)


def _more(before: int | None, now: int | None) -> str:
    if before is None or now is None:
        return figures.UNKNOWN
    return ("+" if now >= before else "-") + figures.money(abs(now - before))
