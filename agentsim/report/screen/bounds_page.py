"""What changes could have saved where caches are automatic and logs hold only counters, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.whatif.cache_bounds import CacheBound, CacheBounds

COLUMNS = (
    TableColumn("what", "<", 9, 18),
    TableColumn("rows", ">", 5),
    TableColumn("tokens at least", ">", 3),
    TableColumn("at most", ">", 6),
    TableColumn("saves at least", ">", 8),
    TableColumn("at most ", ">", 9),
)


def write_bounds(paper: Paper, found: CacheBounds) -> None:
    """Write the bounds, and under them the conditions of those that could save anything."""
    places = figures.places_for([found.bill])
    paper.line()
    bill = "" if found.bill is None else f", {figures.money(found.bill, places)}"
    paper.paragraph(
        ("Automatic caches", Style.STRONG),
        f": {figures.plural(found.sessions, 'session')} of {figures.plural(found.requests, 'request')} and "
        f"{found.input_tokens:,} input tokens{bill}. Their counters bound what a change could have saved: at least "
        "what can have no other cause, at most what may have this one. The lines do not add up.",
    )
    if found.unpriced:
        paper.paragraph((f"Not priced, and in no amount: {figures.plural(found.unpriced, 'request')}.", Style.WARN))
    write_table(paper, COLUMNS, [_row(bound, places) for bound in found.bounds])
    told: set[str] = set()
    for bound in found.bounds:
        text = bound.reason or bound.condition
        if text and text not in told:
            told.add(text)
            name = "compaction" if bound.name.startswith("compact-") else bound.title
            paper.paragraph((name, Style.NAME), (f": {text}", Style.FAINT), first=["  "], rest=["    "])


def _row(bound: CacheBound, places: int) -> list[Span]:
    offered = bound.reason is None
    return [
        bound.title,
        figures.count(bound.rows),
        figures.count(bound.least_tokens) if offered else figures.UNKNOWN,
        figures.count(bound.most_tokens) if offered else figures.UNKNOWN,
        figures.UNKNOWN if bound.least is None or not offered else figures.money(bound.least, places),
        figures.UNKNOWN if bound.most is None or not offered else figures.money(bound.most, places),
    ]
