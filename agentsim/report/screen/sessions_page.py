"""Sessions to choose from: a line each, the newest first, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agentsim.core.session import Session
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.traces.session_names import names_of

MOST_LISTED = 12
"""Sessions that are listed when one has to be chosen."""

SHORTEST = 8
"""Characters of an id that are shown at least."""

COLUMNS = (
    TableColumn("session", "<", 9, 8),
    TableColumn("last request", "<", 8),
    TableColumn("requests", ">", 5),
    TableColumn("project", "<", 7, 8),
    TableColumn("harness", "<", 3),
    TableColumn("model", "<", 4, 8),
)


def write_choice(sessions: Sequence[Session]) -> None:
    """Write a table of these sessions, each with as much of its id as tells it from the others."""
    paper = Paper.on(sys.stderr)
    newest = sorted(sessions, key=lambda session: (-(_last(session) or 0), session.id))
    length = _length([session.id for session in sessions])
    rows: list[list[Span]] = [
        [
            session.id[:length],
            figures.moment(_last(session)),
            figures.count(len(session.requests)),
            names_of(session).place,
            session.harness or session.format,
            ", ".join(dict.fromkeys(request.model for request in session.requests if request.model)),
        ]
        for session in newest[:MOST_LISTED]
    ]
    write_table(paper, COLUMNS, rows)
    if len(newest) > MOST_LISTED:
        paper.line((f"and {len(newest) - MOST_LISTED:,} more", Style.FAINT))


def _last(session: Session) -> int | None:
    times = [time for request in session.requests for time in (request.start, request.end) if time is not None]
    return max(times, default=None)


def _length(ids: Sequence[str]) -> int:
    """How many characters tell the ids apart."""
    longest = max(len(id) for id in ids)
    for length in range(SHORTEST, longest):
        if len({id[:length] for id in ids}) == len(set(ids)):
            return length
    return longest
