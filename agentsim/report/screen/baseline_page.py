"""What a new baseline changes, on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from agentsim.budget.cost_baseline import BaselineChange, BaselineEntry
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

MOST_ROWS = 200

COLUMNS = (
    TableColumn("", "<"),
    TableColumn("trace", "<", 9, 20, "start"),
    TableColumn("cost", ">", 8),
    TableColumn("input equivalents", ">", 5),
    TableColumn("hit rate", ">", 6),
    TableColumn("misses", "<", 7, 12),
)


def write_changes(paper: Paper, changes: Sequence[BaselineChange], file: str, sessions: int, *, written: bool) -> None:
    """Write which entries are new, gone or different, old values before new ones."""
    if changes:
        rows = [_row(change) for change in changes[:MOST_ROWS]]
        write_table(paper, COLUMNS, rows)
        if len(changes) > MOST_ROWS:
            paper.line((f"and {len(changes) - MOST_ROWS:,} more", Style.FAINT))
        paper.line()
    verb = "holds" if written else "would hold"
    what = figures.plural(len(changes), "change") if changes else "no change"
    paper.paragraph((file, Style.STRONG), f" {verb} {figures.plural(sessions, 'session')}: {what}")


def _row(change: BaselineChange) -> list[Span]:
    before, after = change.before, change.after
    if before is None:
        sign: Span = ("new", Style.GOOD)
    elif after is None:
        sign = ("gone", Style.WARN)
    else:
        sign = "changed"
    return [
        sign,
        change.key,
        _pair([_cost(one) for one in (before, after) if one is not None]),
        _pair([_tokens(one) for one in (before, after) if one is not None]),
        _pair([_rate(one) for one in (before, after) if one is not None]),
        _pair([_misses(one) for one in (before, after) if one is not None]),
    ]


def _pair(values: Sequence[str]) -> str:
    return " → ".join(dict.fromkeys(values))


def _cost(entry: BaselineEntry) -> str:
    return f"${Decimal(entry.cost):,.4f}" if _priced(entry) else figures.money(None)


def _tokens(entry: BaselineEntry) -> str:
    return figures.equivalents(int(Decimal(entry.input_equivalents) * 10**6) if _priced(entry) else None)


def _priced(entry: BaselineEntry) -> bool:
    return entry.not_priced < entry.requests or not entry.requests


def _rate(entry: BaselineEntry) -> str:
    return f"{figures.per_cent(entry.hit_rate.read, entry.hit_rate.total_input)} %"


def _misses(entry: BaselineEntry) -> str:
    return ", ".join(f"{code} × {count:,}" for code, count in sorted(entry.misses.items())) or "none"
