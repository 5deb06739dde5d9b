"""A probe on a screen: each request with what was predicted of it, and what each experiment found."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.rules.prices import RateCard, cost
from agentsim.trust.probe.probe_bench import ProbeFinding, ProbeStep

_COLUMNS = (
    TableColumn("request", "<", 9),
    TableColumn("input"),
    TableColumn("written"),
    TableColumn("predicted", ">", 6),
    TableColumn("read"),
    TableColumn("predicted", ">", 7),
    TableColumn("output", ">", 2),
    TableColumn("cost", ">", 3),
    TableColumn("", "<", 8),
)


def write_steps(paper: Paper, steps: Sequence[ProbeStep], card: RateCard | None) -> None:
    """Write the requests of one experiment as a table; nothing where there are none."""
    if not steps:
        return
    rows: list[Sequence[Span]] = []
    for step in steps:
        usage = step.answered.usage
        paid = None if card is None else cost(card, usage)
        rows.append(
            (
                step.name,
                figures.count(usage.total_input),
                figures.count(usage.write),
                figures.count(step.predicted.write),
                figures.count(usage.read),
                figures.count(step.predicted.read),
                figures.count(usage.output),
                figures.row_money(paid),
                _held(step.holds),
            )
        )
    write_table(paper, _COLUMNS, rows)


def write_finding(paper: Paper, finding: ProbeFinding) -> None:
    """Write what an experiment found about a rule."""
    verdict: Span = ("not measured", Style.WARN)
    if finding.agrees is not None:
        verdict = ("agrees", Style.GOOD) if finding.agrees else ("differs", Style.BAD)
    paper.line((finding.experiment, Style.STRONG), ": ", verdict)
    paper.line("  predicted: ", finding.predicted)
    paper.line("  measured:  ", finding.measured)
    if finding.source:
        paper.paragraph(
            f"{finding.source} (confidence: {finding.confidence})", first=("  rule:      ",), rest=(" " * 13,)
        )
    if finding.note:
        paper.paragraph(finding.note, first=("  note:      ",), rest=(" " * 13,))


def _held(holds: bool | None) -> Span:
    if holds is None:
        return ""
    return ("as expected", Style.GOOD) if holds else ("not as expected", Style.BAD)
