"""Whether switching the model paid, and from which hit rate caching does, on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.whatif.model_switches import HitRateNeeded, ModelSwitch

COLUMNS = (
    TableColumn("rows", ">", 8),
    TableColumn("from", "<", 6, 10),
    TableColumn("to", "<", 7, 10),
    TableColumn("lost", ">", 4),
    TableColumn("paid", ">", 6),
    TableColumn("staying", ">", 5),
    TableColumn("saved", ">", 9),
)

MOST = 6
"""Switches that are listed."""


def write_switches(paper: Paper, switches: Sequence[ModelSwitch], rates: Sequence[HitRateNeeded]) -> None:
    """Write the switches that cost most or saved least, and what hit rate each model needs."""
    if switches:
        places = figures.places_for([switch.paid for switch in switches])
        paper.line()
        saved = sum(switch.saved for switch in switches)
        paper.paragraph(
            ("Model switches", Style.STRONG),
            f": {figures.plural(len(switches), 'stretch', 'stretches')} with another model, which "
            f"{'saved' if saved >= 0 else 'cost'} {figures.money(abs(saved), places)} beside staying, if the model "
            "before had needed as many requests and tokens.",
        )
        write_table(paper, COLUMNS, [_row(switch, places) for switch in switches[:MOST]])
        if len(switches) > MOST:
            paper.paragraph((f"{len(switches) - MOST:,} more in --json.", Style.FAINT))
    if rates:
        paper.line()
        told = "; ".join(
            f"{_tenths(rate.per_mille)} % with {rate.lifetime}-lived entries of {rate.model}, where it was "
            f"{_tenths(rate.read_per_mille)} %"
            for rate in rates[:MOST]
        )
        paper.paragraph((f"Caching pays from a hit rate of {told}.", Style.FAINT))


def _tenths(per_mille: int) -> str:
    return f"{per_mille // 10}.{per_mille % 10}"


def _row(switch: ModelSwitch, places: int) -> list[Span]:
    return [
        f"{switch.first}–{switch.last}",
        switch.before,
        switch.after,
        figures.count(switch.lost_tokens),
        figures.money(switch.paid, places),
        figures.money(switch.staying, places),
        (figures.money(switch.saved, places), Style.GOOD if switch.saved >= 0 else Style.BAD),
    ]
