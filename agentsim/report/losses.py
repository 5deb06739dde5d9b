"""What was lost, by cause: the table that a replay and a summary share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.report.verdict_words import cause_title

if TYPE_CHECKING:
    from agentsim.diagnose.diagnosis_totals import Loss


COLUMNS = (
    TableColumn("cause", "<", 9, 20),
    TableColumn("misses"),
    TableColumn("tokens", ">", 5),
    TableColumn("cost"),
    TableColumn("of the bill", ">", 3),
)


def write_losses(paper: Paper, losses: Sequence[Loss], bill: int) -> None:
    """Write what each cause lost. ``bill`` is the whole cost in picodollars that shares are taken of."""
    from agentsim.diagnose.diagnosis_totals import known_loss

    if not losses:
        return
    count = sum(loss.count for loss in losses)
    tokens = sum(loss.tokens for loss in losses)
    paper.line()
    paper.paragraph(
        (f"Lost to {figures.plural(count, 'miss', 'misses')}", Style.STRONG),
        f": {figures.plural(tokens, 'token')}, {figures.money(known_loss(losses))}",
    )
    places = figures.places_for(loss.cost for loss in losses)
    rows: list[list[Span]] = [
        [
            f"{loss.cause} {cause_title(loss.cause)}",
            figures.count(loss.count),
            figures.count(loss.tokens),
            figures.UNKNOWN if loss.known_cost is None else figures.money(loss.cost, places),
            f"{figures.per_cent(loss.cost, bill)} %" if bill and loss.known_cost is not None else figures.UNKNOWN,
        ]
        for loss in losses
    ]
    write_table(paper, COLUMNS, rows, indent=2)
    code = losses[0].cause
    paper.paragraph(
        (f"agentsim explain {code} tells what it means, how to confirm it and how to fix it.", Style.FAINT),
        first=["  "],
        rest=["  "],
    )
