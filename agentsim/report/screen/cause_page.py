"""What a cause means, on a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentsim.report.paper import Paper, Span, Style

if TYPE_CHECKING:
    from agentsim.diagnose.cause_registry import Cause

GROUPS = {
    "AS1": "The prefix changed",
    "AS2": "Lifetime",
    "AS3": "Breakpoints and lookback",
    "AS4": "Settings and keys",
    "AS5": "Concurrency and routing",
    "AS9": "Unexplained",
}


def write_cause(paper: Paper, cause: Cause) -> None:
    """Write one cause: its meaning, how to confirm it, how to fix it."""
    paper.paragraph((cause.code, Style.STRONG), " ", (cause.title, Style.STRONG), (f"  {cause.slug}", Style.FAINT))
    for title, text in (
        ("What it means", cause.meaning),
        ("How to confirm it", cause.how_to_confirm),
        ("Fix", cause.fix),
    ):
        paper.line()
        paper.line((title, Style.NAME))
        paper.paragraph(text, first=["  "], rest=["  "])


def write_causes(paper: Paper, causes: Iterable[Cause]) -> None:
    """Write all causes, in groups."""
    group = ""
    for cause in causes:
        heading = GROUPS.get(cause.code[:3], "")
        if heading != group:
            if group:
                paper.line()
            group = heading
            paper.line((heading, Style.NAME))
        lead: list[Span] = ["  ", (cause.code, Style.STRONG), "  "]
        paper.paragraph(cause.title, first=lead, rest=[" " * (len(cause.code) + 4)])
