"""Fitted rules: on a screen, and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from agentsim import __version__
from agentsim.core.dates import SECOND
from agentsim.report import figures
from agentsim.report.json.canonical_json import Document
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.trust.calibrate import Bin, CalibratedRules, Lifetime

COLUMNS = (
    TableColumn("lifetime", "<", 5),
    TableColumn("pause", "<", 9),
    TableColumn("returns", ">", 6),
    TableColumn("kept", ">", 4),
    TableColumn("partly", ">", 3),
    TableColumn("lost", ">", 4),
    TableColumn("kept, 95 %", ">", 8),
)
_MOST_FLOORS = 5


def write_calibration(paper: Paper, found: Sequence[CalibratedRules]) -> None:
    """Write the fits of each provider, and how well they fit."""
    for number, one in enumerate(found):
        if number:
            paper.line()
        sizes = f"{figures.plural(one.returns, 'return')} in {figures.plural(one.sessions, 'session')}"
        paper.paragraph((one.provider, Style.STRONG), f" · {sizes} · {', '.join(one.models)}")
        paper.line()
        for life in one.lifetimes:
            _lifetime(paper, life)
        _quantum(paper, one)
        _floors(paper, one)
        paper.line()
        rows = [_row(tier, span) for tier, spans in one.retention for span in spans]
        write_table(paper, COLUMNS, rows, indent=2)


def _lifetime(paper: Paper, life: Lifetime) -> None:
    name = "lifetime" if life.tier == "unstated" else f"{life.tier} lifetime"
    clock = "start of a request" if life.clock == "request_start" else "end of a response"
    spread = f"{life.least:,.0f} s" + (f" to {life.most:,.0f} s" if life.most is not None else " or more")
    if life.value is not None:
        same = life.value == life.documented
        text = f", from the {clock}" + (", as documented" if same else "")
        text += f"; {spread} fits as well; {life.wrong:,} of {figures.plural(life.returns, 'return')} against it"
        value: Span = (f"{life.value:,} s", Style.STRONG)
    elif life.most is None:
        value = ("longer than any pause", Style.STRONG)
        text = f": {spread}; {life.wrong:,} of {figures.plural(life.returns, 'return')} were lost earlier"
    else:
        value = ("not by time alone", Style.WARN)
        text = f": after {life.least:,.0f} s {life.lost_beyond:,} of {life.beyond:,} were lost, and "
        text += f"{life.lost - life.lost_beyond:,} of {life.returns - life.beyond:,} before"
    paper.paragraph(value, text, first=[f"  {name:<17}"], rest=[" " * 19])


def _quantum(paper: Paper, one: CalibratedRules) -> None:
    quantum = one.quantum
    if quantum is None:
        paper.line("  step             too few different reads to tell")
        return
    text = f"; {quantum.fits:,} of {quantum.reads:,} different reads"
    if quantum.offset:
        text = f" after the first {quantum.offset:,}" + text
    paper.line("  step             ", (figures.plural(quantum.step, "token"), Style.STRONG), text)


def _floors(paper: Paper, one: CalibratedRules) -> None:
    for floor in sorted(one.floors, key=lambda floor: (-floor.times, floor.model))[:_MOST_FLOORS]:
        text = f" stayed in {floor.times:,} of {figures.plural(floor.losses, 'loss', 'losses')} of {floor.model}"
        paper.paragraph(
            (figures.plural(floor.tokens, "token"), Style.STRONG), text, first=["  base prefix      "], rest=[" " * 19]
        )


def _row(tier: str, span: Bin) -> list[Span]:
    until = "on" if span.end is None else f"to {figures.span(span.end * SECOND)}"
    return [
        tier,
        f"{figures.span(span.start * SECOND)} {until}",
        figures.count(span.returns),
        figures.count(span.kept),
        figures.count(span.partly),
        figures.count(span.lost),
        f"{span.low * 100:.0f} – {span.high * 100:.0f} %",
    ]


def calibration_document(found: Sequence[CalibratedRules]) -> Document:
    """The fits for programs. Pauses in seconds, shares as fractions."""
    return {
        "agentsim": __version__,
        "report": "calibrate",
        "version": 1,
        "providers": [msgspec.to_builtins(one) for one in found],
    }
