"""Losses that come more than once, and what they have in common, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Style
from agentsim.report.verdict_words import cause_title

if TYPE_CHECKING:
    from agentsim.diagnose.loss_findings import RepeatedLoss, RepeatedLosses
    from agentsim.diagnose.loss_leads import Lead

MOST_SHOWN = 6


def write_findings(paper: Paper, found: RepeatedLosses) -> None:
    """Write the losses that are one, the dearest first; nothing where none comes twice."""
    if not found.repeated and found.lead is None:
        return
    paper.line()
    paper.line(("Losses that repeat", Style.STRONG))
    for finding in found.repeated[:MOST_SHOWN]:
        _finding(paper, finding)
    if len(found.repeated) > MOST_SHOWN:
        paper.line((f"  and {len(found.repeated) - MOST_SHOWN} more; see --json", Style.FAINT))
    if found.lead is not None:
        paper.paragraph("Losses without a place: ", *_lead(found.lead), first=["  "], rest=["  "])


def _finding(paper: Paper, finding: RepeatedLoss) -> None:
    title = f"{len(finding.rows)} × {finding.cause} {finding.what or cause_title(finding.cause)}"
    cost = "" if finding.cost is None else f", {figures.money(finding.cost)}"
    paper.paragraph(
        (title, Style.STRONG),
        f": {figures.plural(finding.tokens, 'token')}{cost}, {finding.rhythm}",
        first=["  "],
        rest=["    "],
    )
    if finding.lead is not None:
        paper.paragraph(*_lead(finding.lead), first=["    "], rest=["    "])


def _lead(lead: Lead) -> tuple[str, tuple[str, Style]]:
    return f"{lead.sentence} ", ("A lead, no proof.", Style.FAINT)
