"""Two recordings on a screen: the bill's difference request by request, what broke the prefix, the sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentsim.budget.budget_gate import Result
from agentsim.budget.recording_changes import Changes, RequestPair, Side
from agentsim.core.money import format_dollars
from agentsim.diagnose.diagnosis_totals import Totals
from agentsim.report import figures
from agentsim.report.figures import more
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.gate_page import write_results
from agentsim.report.table import TableColumn, TableLayout, write_table
from agentsim.report.verdict_words import KINDS, cause_title, fix_for, headline, where

_INDENT = "     │ "

COLUMNS = (
    TableColumn("#"),
    TableColumn("lane", "<", 3),
    TableColumn("written", ">", 6),
    TableColumn("read", ">", 5),
    TableColumn("cost", ">", 7),
    TableColumn("more", ">", 8),
    TableColumn("what happened", "<", 9, 13),
)


def write_diff(paper: Paper, changes: Changes, results: Sequence[Result], *, all_rows: bool = False) -> None:
    """Write the difference. Rows that did not change are counted; ``all_rows`` shows them."""
    old, new = changes.old.session, changes.new.session
    paper.paragraph(("Old ", Style.STRONG), f"{old.id} · {figures.plural(changes.old.totals.requests, 'request')}")
    paper.paragraph(("New ", Style.STRONG), f"{new.id} · {figures.plural(changes.new.totals.requests, 'request')}")
    paper.line()
    if not changes.comparable:
        paper.paragraph(
            ("These are fingerprints under two keys: ", Style.WARN), "which blocks differ between them is not known."
        )
        paper.line()
    _rows(paper, changes, all_rows)
    _totals(paper, changes)
    if results:
        paper.line()
        write_results(paper, results)


def _rows(paper: Paper, changes: Changes, all_rows: bool) -> None:
    several = len({pair.lane for pair in changes.pairs}) > 1
    keep = [index for index, column in enumerate(COLUMNS) if column.title != "lane" or several]
    shown = [pair for pair in changes.pairs if all_rows or differs(pair)]
    lines = [(pair, [_cells(pair)[index] for index in keep]) for pair in shown]
    if lines:
        layout = TableLayout([COLUMNS[index] for index in keep], [cells for _, cells in lines], paper.width)
        layout.head(paper)
        told: set[str | None] = set()
        for pair, cells in lines:
            layout.row(paper, cells)
            _story(paper, pair, told)
    same = len(changes.pairs) - len(shown)
    if same:
        paper.line((f"{figures.plural(same, 'request')} came out the same; --all shows them", Style.FAINT))
    paper.line()


def differs(pair: RequestPair) -> bool:
    """Whether there is anything to tell of a pair."""
    if pair.old is None or pair.new is None or pair.place is not None or pair.settings:
        return True
    before, after = pair.old, pair.new
    return (before.row.usage, before.row.cost, before.verdict.kind, before.verdict.cause) != (
        after.row.usage,
        after.row.cost,
        after.verdict.kind,
        after.verdict.cause,
    )


def _cells(pair: RequestPair) -> list[Span]:
    side = pair.new or pair.old
    assert side is not None
    dearer = pair.cost
    style = Style.PLAIN if not dearer else Style.BAD if dearer > 0 else Style.GOOD
    return [
        f"{side.number:3d}" if pair.new is not None else "  –",
        pair.lane,
        _pair([figures.count(one.row.usage.write) for one in _sides(pair)]),
        _pair([figures.count(one.row.usage.read) for one in _sides(pair)]),
        _pair([figures.row_money(one.row.cost) for one in _sides(pair)]),
        (signed(dearer), style),
        (_pair([_kind(one) for one in _sides(pair)]) + ("" if pair.old and pair.new else _only(pair)), _tone(pair)),
    ]


def signed(pico: int | None) -> str:
    """A difference of money with its sign."""
    if pico is None:
        return figures.UNKNOWN
    return ("+" if pico > 0 else "") + format_dollars(pico, 4)


def _only(pair: RequestPair) -> str:
    return ", new recording only" if pair.old is None else ", old recording only"


def _tone(pair: RequestPair) -> Style:
    if pair.new is None or pair.new.verdict.kind != "miss":
        return Style.PLAIN
    return Style.BAD


def _sides(pair: RequestPair) -> list[Side]:
    return [side for side in (pair.old, pair.new) if side is not None]


def _kind(side: Side) -> str:
    verdict = side.verdict
    if verdict.kind == "miss":
        return f"MISS {verdict.cause or ''}".rstrip()
    word = KINDS[verdict.kind]
    return word if isinstance(word, str) else word[0]


def _pair(values: Sequence[str]) -> str:
    return " → ".join(dict.fromkeys(values))


def _story(paper: Paper, pair: RequestPair, told: set[str | None]) -> None:
    rule: list[Span] = [(_INDENT, Style.FAINT)]
    if pair.place is not None:
        paper.paragraph(("differs from the old prompt: ", Style.STRONG), where(pair.place), first=rule, rest=rule)
    if pair.settings:
        paper.paragraph(("settings differ: ", Style.STRONG), ", ".join(pair.settings), first=rule, rest=rule)
    verdict = pair.new.verdict if pair.new is not None else None
    if verdict is None or verdict.kind != "miss":
        return
    place = f": {where(verdict.place)}" if verdict.place is not None else ""
    paper.paragraph((headline(verdict), Style.STRONG), place, first=rule, rest=rule)
    price = f", {figures.money(verdict.lost_cost)} more than reading them" if verdict.lost_cost is not None else ""
    paper.paragraph(f"lost {figures.plural(verdict.lost, 'token')}{price}", first=rule, rest=rule)
    fix = fix_for(verdict)
    if fix and fix not in told:
        paper.paragraph(("fix  ", Style.FAINT), fix, first=rule, rest=rule)
        told.add(fix)


TOTALS = (TableColumn("", "<"), TableColumn("old"), TableColumn("new"), TableColumn("more"), TableColumn("in per cent"))


def _totals(paper: Paper, changes: Changes) -> None:
    old, new = changes.old.totals, changes.new.totals
    cost = more(old.known_cost, new.known_cost)
    equal = more(old.known_equivalents, new.known_equivalents)
    rows: list[list[Span]] = [
        _counted("requests", old.requests, new.requests),
        _counted("written", old.written, new.written),
        _counted("read", old.read, new.read),
        _counted("fresh", old.fresh, new.fresh),
        _counted("output", old.output, new.output),
        [
            "hit rate",
            *(f"{figures.per_cent(*sums.hit_rate)} %" for sums in (old, new)),
            "",
            "",
        ],
        [
            "input equivalents",
            figures.equivalents(old.known_equivalents),
            figures.equivalents(new.known_equivalents),
            _more(equal or 0, figures.equivalents(equal)),
            "" if equal is None else _share(old.equivalents, new.equivalents),
        ],
        [
            "cost",
            figures.row_money(old.known_cost),
            figures.row_money(new.known_cost),
            signed(cost),
            "" if cost is None else _share(old.cost, new.cost),
        ],
        _counted("misses", old.misses, new.misses),
    ]
    before, after = by_cause(old), by_cause(new)
    for code in sorted({*before, *after}):
        rows.append(_counted(f"  {code} {cause_title(code)}", before.get(code, 0), after.get(code, 0)))
    write_table(paper, TOTALS, rows)
    unpriced = old.unpriced + new.unpriced
    if unpriced:
        least = "" if old.known_cost is None and new.known_cost is None else ": costs are least ones"
        paper.paragraph((f"{figures.plural(unpriced, 'request')} not priced{least}", Style.WARN))


def by_cause(totals: Totals) -> Mapping[str, int]:
    """Misses by cause."""
    return {loss.cause: loss.count for loss in totals.losses}


def _counted(name: str, old: int, new: int) -> list[Span]:
    return [name, figures.count(old), figures.count(new), _more(new - old, figures.count(new - old)), _share(old, new)]


def _more(difference: int, text: str) -> str:
    return f"+{text}" if difference > 0 else text


def _share(old: int, new: int) -> str:
    if not old or old == new:
        return ""
    text = figures.per_cent(new - old, old)
    return f"+{text} %" if new > old else f"{text} %"
