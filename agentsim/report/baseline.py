"""What a new baseline changes, on a screen."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from agentsim.budget.baseline import Change, Entry
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import Column, write_table

MOST_ROWS = 200

COLUMNS = (
    Column("", "<"),
    Column("trace", "<", 9, 20, "start"),
    Column("cost", ">", 8),
    Column("input equivalents", ">", 5),
    Column("hit rate", ">", 6),
    Column("misses", "<", 7, 12),
)


def write_changes(paper: Paper, changes: Sequence[Change], file: str, sessions: int, *, written: bool) -> None:
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


def _row(change: Change) -> list[Span]:
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


def _cost(entry: Entry) -> str:
    return f"${Decimal(entry.cost):,.4f}" if _priced(entry) else figures.money(None)


def _tokens(entry: Entry) -> str:
    return figures.equivalents(int(Decimal(entry.input_equivalents) * 10**6) if _priced(entry) else None)


def _priced(entry: Entry) -> bool:
    return entry.not_priced < entry.requests or not entry.requests


def _rate(entry: Entry) -> str:
    return f"{figures.per_cent(entry.hit_rate.read, entry.hit_rate.total_input)} %"


def _misses(entry: Entry) -> str:
    return ", ".join(f"{code} × {count:,}" for code, count in sorted(entry.misses.items())) or "none"
