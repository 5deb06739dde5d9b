"""Log formats on a screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.traces.format_registry import LogFormat


def write_formats(paper: Paper, formats: Iterable[LogFormat]) -> None:
    """Write each format: its name, what it is, and whether it was tried on real logs."""
    for entry in formats:
        tried = "" if entry.verified else "  (unverified on real data)"
        paper.line((entry.name, Style.STRONG), (tried, Style.WARN))
        paper.paragraph(entry.description, first=["  "], rest=["  "])


def write_detected(paper: Paper, detected: Sequence[tuple[str, LogFormat | None]]) -> None:
    """Write the format of each file."""
    rows: list[list[Span]] = [
        [path, found.name if found else ("not a known format", Style.WARN)] for path, found in detected
    ]
    write_table(paper, (TableColumn("file", "<", 9, 12, "start"), TableColumn("format", "<")), rows)
