"""Entries against recomputation, on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agentsim.report.figures import plural, short
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table


@dataclass(frozen=True, slots=True)
class EntrySizeCost:
    """A size of entry. ``repeated`` are matching tokens that one request computes again: of the given prefix, or on
    average over prefixes that end anywhere. ``seconds`` are those of all entries and all repeated tokens."""

    group: int
    entries: int
    id_bytes: int
    most_repeated: int
    reused: int | None
    repeated: float
    repeated_in_all: float
    seconds: float | None


def weigh(
    groups: Sequence[int],
    document: int,
    prefix: int | None,
    id_bytes: int,
    requests: int,
    entry_us: float | None,
    token_us: float | None,
) -> tuple[EntrySizeCost, ...]:
    """Weigh each size of entry. Times are microseconds."""
    from agentsim.engine.lab.entries import Granularity

    found = []
    for group in groups:
        its = Granularity(group)
        entries = its.entries(document)
        repeated = its.mean_repeated if prefix is None else float(its.repeated(prefix))
        seconds = None
        if entry_us is not None and token_us is not None:
            seconds = (entries * entry_us + requests * repeated * token_us) / 1e6
        found.append(
            EntrySizeCost(
                group=group,
                entries=entries,
                id_bytes=entries * id_bytes,
                most_repeated=its.most_repeated,
                reused=None if prefix is None else its.reused(prefix),
                repeated=repeated,
                repeated_in_all=repeated * requests,
                seconds=seconds,
            )
        )
    return tuple(found)


def write_granularity(
    paper: Paper, rows: Sequence[EntrySizeCost], document: int, prefix: int | None, requests: int
) -> None:
    """Write the sizes side by side, and which one costs least where times are given."""
    columns = [
        TableColumn("tokens in an entry"),
        TableColumn("entries"),
        TableColumn("identities, MB", weight=5),
        TableColumn("at most"),
    ]
    if prefix is not None:
        columns.append(TableColumn("reused"))
    columns.append(TableColumn("computed again"))
    if requests > 1:
        columns.append(TableColumn(f"in {requests:,} requests"))
    timed = rows[0].seconds is not None
    if timed:
        columns.append(TableColumn("seconds in all"))
    best = min((row.seconds for row in rows if row.seconds is not None), default=None)
    lines: list[list[Span]] = []
    for row in rows:
        line: list[Span] = [f"{row.group:,}", f"{row.entries:,}", short(row.id_bytes / 1e6), f"{row.most_repeated:,}"]
        if row.reused is not None:
            line.append(f"{row.reused:,}")
        line.append(short(row.repeated))
        if requests > 1:
            line.append(f"{row.repeated_in_all:,.0f}")
        if row.seconds is not None:
            line.append((short(row.seconds), Style.GOOD if row.seconds == best else Style.PLAIN))
        lines.append(line)
    common = "prefixes that end anywhere" if prefix is None else f"{plural(prefix, 'token')} in common"
    paper.paragraph((f"A document of {plural(document, 'token')}, then requests with {common}", Style.STRONG))
    write_table(paper, columns, lines)
    paper.line()
    note = (
        "Computed again are matching tokens of one request behind its last whole entry; new tokens are computed anyway."
    )
    if timed:
        least = min(rows, key=lambda row: row.seconds or 0.0)
        note += f" Entries of {least.group:,} cost least with these times."
    else:
        note += " Which size costs least depends on the times of an entry and a token: --entry-us, --token-us."
    paper.paragraph((note, Style.FAINT))


def granularity_document(
    rows: Sequence[EntrySizeCost], document: int, prefix: int | None, requests: int
) -> dict[str, Any]:
    """The same as JSON."""
    from agentsim import __version__

    return {
        "agentsim": __version__,
        "report": "granularity",
        "version": 1,
        "document_tokens": document,
        "prefix_tokens": prefix,
        "requests": requests,
        "sizes": [asdict(row) for row in rows],
    }
