"""Served traces: hit rates by size of the cache, on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.capacity import CapacityPoint, ServedTrace

COLUMNS = (
    TableColumn("capacity", ">", 9),
    TableColumn("hit %", ">", 8),
    TableColumn("tokens read", ">", 6),
    TableColumn("requests", ">", 4),
    TableColumn("", "<", 2),
)

BAR = 24
"""Cells of a bar for all input tokens."""


def write_serving(paper: Paper, traces: Sequence[ServedTrace], *, engine: str, page: int, all: bool) -> None:
    """Write the table of each trace. Unless ``all`` sizes are wanted, those that change nothing are left out."""
    for number, served in enumerate(traces):
        if number:
            paper.line()
        _write(paper, served, engine, page, all)


def _write(paper: Paper, served: ServedTrace, engine: str, page: int, all: bool) -> None:
    blocks = figures.plural(served.blocks, "block")
    paper.paragraph(
        (served.name, Style.STRONG),
        f" · {served.format} · {figures.plural(served.requests, 'request')}, {blocks}",
    )
    last = figures.plural(served.measured, "request")
    measured = "" if served.measured == served.requests else f" of the last {last}"
    paper.paragraph(
        f"{engine}, pages of {figures.plural(page, 'token')} · {figures.count(served.tokens)} input tokens{measured}"
    )
    paper.line()
    points = list(served.points)
    if not all:
        enough = next((at for at, point in enumerate(points) if point.read == served.ceiling.read), len(points))
        points = points[: enough + 1]
    rows = [_row(served, point, figures.count(point.capacity)) for point in points]
    rows.append(_row(served, served.ceiling, "no end"))
    write_table(paper, COLUMNS, rows, indent=2)
    paper.line()
    share = figures.per_cent(served.shared, served.tokens)
    paper.paragraph(
        f"{share} % of the input stood in leading blocks that were seen before; "
        f"a cache without end would hold {figures.count(served.room)} tokens."
    )


def _row(served: ServedTrace, point: CapacityPoint, capacity: str) -> list[Span]:
    filled = round(BAR * point.read / served.tokens) if served.tokens else 0
    return [
        capacity,
        (figures.per_cent(point.read, served.tokens), Style.STRONG),
        figures.count(point.read),
        figures.count(point.hits),
        ("█" * filled + "░" * (BAR - filled), Style.NAME),
    ]


def serving_document(
    traces: Sequence[ServedTrace], *, engine: str, page: int, warmup: float, without: int
) -> dict[str, Any]:
    """Served traces for programs. Rates are shares of the measured input tokens, to six digits."""
    return {
        "agentsim": __version__,
        "report": "serving",
        "version": 1,
        "engine": engine,
        "page": page,
        "warmup": warmup,
        "requests_without_prompt": without,
        "traces": [_document(served) for served in traces],
    }


def _document(served: ServedTrace) -> dict[str, Any]:
    document: dict[str, Any] = {
        "file": served.name,
        "format": served.format,
        "requests": served.requests,
        "measured_requests": served.measured,
        "input_tokens": served.tokens,
        "blocks": served.blocks,
        "shared_tokens": served.shared,
        "shared_rate": _rate(served.shared, served.tokens),
        "working_set_tokens": served.room,
        "points": [_point(point, served.tokens) for point in served.points],
        "ceiling": _point(served.ceiling, served.tokens),
    }
    if served.reads:
        names = [f"{point.capacity}" for point in served.points] + ["ceiling"]
        document["rows"] = [
            {"line": line, "input_tokens": tokens, "read_tokens": dict(zip(names, reads, strict=True))}
            for line, tokens, reads in zip(served.lines, served.inputs, served.reads, strict=True)
        ]
    return document


def _point(point: CapacityPoint, tokens: int) -> dict[str, Any]:
    return {
        "capacity_tokens": point.capacity,
        "read_tokens": point.read,
        "requests_with_a_hit": point.hits,
        "hit_rate": _rate(point.read, tokens),
    }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None
