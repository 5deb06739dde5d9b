"""The curve of one setting, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.comparison_page import write_trust
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.whatif.setting_sweeps import SettingSweep, SweepPoint

COLUMNS = (
    TableColumn("at", ">", 9),
    TableColumn("requests more", ">", 3),
    TableColumn("cost", ">", 6),
    TableColumn("saves", ">", 9),
    TableColumn("between", ">", 7),
    TableColumn("", "<", 5, 6),
)

BAR = 12
"""Cells of the longest bar."""


def write_sweep(paper: Paper, sweep: SettingSweep) -> None:
    """Write a curve: what it rests on, a line for each value, and the best of them."""
    comparison = sweep.comparison
    write_trust(paper, comparison)
    paper.line()
    paper.line((sweep.title, Style.STRONG), ", the same number for every session")
    places = figures.places_for([comparison.recorded.cost])
    widest = max((abs(point.saving) for point in sweep.points if point.saving is not None), default=0)
    rows: list[list[Span]] = [
        ["as recorded", "", figures.money(comparison.recorded.known_cost, places), "", "", ""]
        if comparison.withheld is None
        else ["as recorded", "", figures.UNKNOWN, "", "", ""]
    ]
    rows += [_row(point, sweep.best, widest, places) for point in sweep.points]
    write_table(paper, COLUMNS, rows)
    best = sweep.best
    if best is not None:
        paper.paragraph(
            "The best of these values: ",
            (f"{best.value:,}", Style.STRONG),
            f", {figures.money(best.saving, places)} less"
            + (f" ({best.setting})." if best.setting else ".")
            + " It was found in these sessions; others may be best at another.",
        )
    if any(point.least is not None for point in sweep.points):
        text = "Between: what is left after a compaction, and read again, taken as large and as small as is known."
        paper.paragraph((text, Style.FAINT))
    paper.paragraph((f"If: {sweep.condition}", Style.FAINT))


def _row(point: SweepPoint, best: SweepPoint | None, widest: int, places: int) -> list[Span]:
    if point.saving is None:
        reason = "" if point.reason is None else "as recorded" if point.reason.startswith("no history") else ""
        return [figures.count(point.value), "", figures.UNKNOWN, (reason or figures.UNKNOWN, Style.FAINT), "", ""]
    cells = abs(point.saving) * BAR // widest if widest else 0
    style = Style.GOOD if point.saving > 0 else Style.BAD
    between = ""
    if point.least is not None and point.most is not None:
        between = f"{figures.money(point.least, places)} and {figures.money(point.most, places)}"
        if point.least < 0 < point.most:
            style = Style.PLAIN
    return [
        (figures.count(point.value), Style.STRONG if point is best else Style.PLAIN),
        figures.count(point.added),
        figures.money(point.cost, places),
        (figures.money(point.saving, places), style),
        between,
        (("█" if point.saving > 0 else "░") * cells, style),
    ]
