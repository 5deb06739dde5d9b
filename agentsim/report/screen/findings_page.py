"""Losses that come more than once, and what they have in common, on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Style
from agentsim.report.verdict_words import cause_title

if TYPE_CHECKING:
    from agentsim.diagnose.loss_findings import RepeatedLoss, RepeatedLosses
    from agentsim.diagnose.loss_leads import Lead
    from agentsim.fleet.summary import Summary
    from agentsim.fleet.summary.repeated_losses import LossLeads
    from agentsim.fleet.summary.summary_shape import KindOfLoss, SharedHead

MOST_SHOWN = 6


def write_findings(paper: Paper, found: RepeatedLosses) -> None:
    """Write the losses that are one, the most expensive first; nothing where none comes twice."""
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


def write_kinds(paper: Paper, summary: Summary, leads: LossLeads | None, top: int = MOST_SHOWN) -> None:
    """Write what was lost in the same way again and again over all sessions, with what stands in front of it where
    that was looked at; nothing where nothing comes twice."""
    kinds = summary.kinds_of_loss
    if kinds:
        paper.line()
        paper.line(("Losses of one kind", Style.STRONG))
    for number, kind in enumerate(kinds[:top]):
        title, rest = words_of_kind(kind)
        paper.paragraph((title, Style.STRONG), f": {rest}", first=["  "], rest=["    "])
        lead = leads.kinds[number] if leads is not None else None
        if lead is not None:
            paper.paragraph(*_lead(lead), first=["    "], rest=["    "])
    if len(kinds) > top:
        paper.line((f"  and {len(kinds) - top:,} more; see --json", Style.FAINT))
    if leads is None:
        return
    if leads.placeless is not None:
        if not kinds:
            paper.line()
        paper.paragraph("Losses without a place: ", *_lead(leads.placeless), first=["  "], rest=["  "])
    if leads.sessions < summary.sessions and (leads.placeless is not None or any(leads.kinds)):
        of = figures.plural(summary.sessions, "session")
        text = f"What stands in front of losses was looked at in {leads.sessions:,} of {of}: those that lost most."
        paper.paragraph((text, Style.FAINT), first=["  "], rest=["  "])


def write_heads(paper: Paper, heads: Sequence[SharedHead]) -> None:
    """Write the heads that conversations would share, were it not for text that changes by itself."""
    if not heads:
        return
    paper.line()
    paper.line(("Heads that conversations could share", Style.STRONG))
    for head in heads[:MOST_SHOWN]:
        title, rest = words_of_head(head)
        paper.paragraph((title, Style.STRONG), f": {rest}", first=["  "], rest=["    "])
    text = "They are in no sum of losses: each is the first request of its session."
    paper.paragraph((text, Style.FAINT), first=["  "], rest=["  "])


def words_of_head(head: SharedHead) -> tuple[str, str]:
    """A head in words: what differs where, and what sending it again cost."""
    cost = "" if head.cost is None else f", {figures.money(head.cost)} more than reading them"
    count = figures.plural(head.conversations, "conversation")
    return (
        f"{count}: {head.cause} {cause_title(head.cause)}, in {head.place}",
        f"{figures.plural(head.tokens, 'token')} sent again while an earlier session's lay in the cache{cost}",
    )


def words_of_kind(kind: KindOfLoss) -> tuple[str, str]:
    """A kind of loss in words: what it is, and how much of it there is where and when."""
    first, last = figures.day(kind.first_time), figures.day(kind.last_time)
    when = "" if kind.first_time is None else f", {first}" if first == last else f", {first} – {last}"
    cost = "" if kind.cost is None else f", {figures.money(kind.cost)}"
    what = f"{cause_title(kind.cause)}, {kind.what}" if kind.what.startswith("each time") else kind.what
    title = f"{kind.losses:,} × {kind.cause} {what or cause_title(kind.cause)}"
    return title, f"{figures.plural(kind.tokens, 'token')}{cost}, in {figures.plural(kind.sessions, 'session')}{when}"


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
