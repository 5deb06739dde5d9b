"""What an endpoint did not answer as asked: refused requests, injected errors, clients that hung up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style

if TYPE_CHECKING:
    from agentsim.gateway.refused_requests import RefusedRequests

MOST_LINES = 20
"""Different reasons that are shown."""


def write_refused(paper: Paper, refused: RefusedRequests) -> None:
    """Write each reason once, with how often it came. Nothing where there is none."""
    if not len(refused):
        return
    paper.line()
    paper.line((f"Not answered as asked: {figures.plural(len(refused), 'request')}", Style.STRONG))
    for number, (request, count) in enumerate(refused):
        if number == MOST_LINES:
            paper.line((f"  and more: {len(list(refused)) - number} reasons", Style.FAINT))
            break
        style = Style.BAD if request.kind == "refused" else Style.FAINT
        head: list[Span] = [f"{count:>5,} × ", (f"{request.kind:<9}", style)]
        paper.paragraph(request.told, first=head, rest=[" " * 17])
