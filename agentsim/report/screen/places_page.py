"""The logs of harnesses on this machine: what ``agentsim`` alone shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.traces.harness_places import FoundPlace

NEXT = (
    ("agentsim summary", "what all of them cost, and what the cache lost"),
    ("agentsim replay PATH", "one session, request by request"),
    ("agentsim tui", "the same in an app"),
    ("agentsim --help", "all commands"),
)


def write_places(paper: Paper, places: Sequence[tuple[FoundPlace, int]]) -> None:
    """Write a line for each place with its number of files, then what to do next."""
    rows: list[list[Span]] = [
        [(place.harness, Style.STRONG), place.path, figures.plural(files, "file")] for place, files in places
    ]
    columns = (TableColumn("harness", "<"), TableColumn("where", "<", 9, 12, "start"), TableColumn("logs", ">"))
    write_table(paper, columns, rows)
    paper.line()
    for command, purpose in NEXT:
        paper.line((f"{command:<22}", Style.STRONG), purpose)
