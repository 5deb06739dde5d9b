"""The page of ``agentsim next``: what the cache holds, and what each act would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.core.dates import SECOND
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, TableLayout

if TYPE_CHECKING:
    from agentsim.outlook.next_acts import Outlook
    from agentsim.outlook.priced_act import MoneyRange, PricedAct

_COLUMNS = (
    TableColumn("act", "<", 9, 24),
    TableColumn("reads", ">", 7),
    TableColumn("anew", ">", 7),
    TableColumn("price", ">", 9),
    TableColumn("at least", ">", 8),
    TableColumn("at most", ">", 8),
    TableColumn("sure", "<", 5),
)
_SURE = {"high": Style.GOOD, "medium": Style.PLAIN, "low": Style.WARN}


def write_next(paper: Paper, outlook: Outlook, *, why: bool = False) -> None:
    """Write the state and the acts; with ``why`` also the rules that each rests on."""
    state = outlook.state
    paper.line((state.session.id, Style.NAME), f" · {state.last.model} · {state.last.lane}")
    word, style = _warmth(outlook)
    paper.line((word, style), f" · {figures.count(state.cached)} tokens cached · {_lifetime(outlook)}")
    paper.line()
    places = figures.places_for(act.cost.expected for act in outlook.acts if act.cost is not None)
    rows = [_row(act, places) for act in outlook.acts]
    layout = TableLayout(_COLUMNS, rows, paper.width)
    layout.head(paper)
    for act, row in zip(outlook.acts, rows, strict=True):
        layout.row(paper, row)
        for line in _under(act, outlook):
            paper.paragraph((line, Style.FAINT), first=("  ",), rest=("  ",))
        if why:
            for rule in act.rules:
                said = f"{rule.rule} = {rule.value} ({rule.confidence}): {rule.source}"
                paper.paragraph((said, Style.FAINT), first=("    ",), rest=("      ",))
    for left in outlook.left_out:
        paper.paragraph((f"{left.title}: not priced, {left.reason}", Style.FAINT))
    if outlook.thousand_new is not None:
        paper.line()
        paper.paragraph(
            "To each price comes what is new: ",
            (figures.money(outlook.thousand_new, 4), Style.STRONG),
            " for a thousand tokens that you type or tools return, and the reply.",
        )


def _warmth(outlook: Outlook) -> tuple[str, Style]:
    found = outlook.warmth
    if found == "empty":
        return "nothing is cached", Style.WARN
    ends = outlook.ends
    if found == "warm" and ends.promised is not None:
        return f"warm for {figures.span(ends.promised - outlook.now)}", Style.GOOD
    if found == "cold" and ends.latest is not None:
        return f"cold since {figures.span(outlook.now - ends.latest)}", Style.BAD
    return "perhaps warm", Style.WARN


def _lifetime(outlook: Outlook) -> str:
    state, ends = outlook.state, outlook.ends
    if state.rules.eviction != "lifetime":
        return "kept until its room is needed"
    if ends.expected is None:
        return "the log tells no times"
    until = figures.moment(ends.promised if state.promises else ends.expected)
    known = "as its writes tell" if state.ttl.low == state.ttl.high else "its log does not tell which"
    if not state.promises:
        return f"usually until {until}; nothing is promised"
    low, high = (figures.span(seconds * SECOND) for seconds in (state.ttl.low, state.ttl.high))
    return f"until {until}: a lifetime of {low if low == high else f'{low} or {high}'}, {known}"


def _row(act: PricedAct, places: int) -> list[Span]:
    reads = sum(step.expected.read or 0 for step in act.steps)
    cost = act.cost
    return [
        (act.title, Style.STRONG),
        figures.count(reads),
        figures.count(act.rewritten),
        figures.money(None if cost is None else cost.expected, places),
        *_bounds(cost, places),
        (act.confidence, _SURE[act.confidence]),
    ]


def _bounds(cost: MoneyRange | None, places: int) -> tuple[Span, Span]:
    if cost is None:
        return figures.UNKNOWN, figures.UNKNOWN
    if cost.exact:
        return "exact", ""
    return figures.money(cost.low, places), figures.money(cost.high, places)


def _under(act: PricedAct, outlook: Outlook) -> list[str]:
    """What stands under the line of an act."""
    lines = [act.note] if act.note else []
    if len(act.steps) > 1:
        parts = [f"{step.what} {figures.money(step.cost.expected if step.cost else None)}" for step in act.steps]
        lines.append("; ".join(parts))
    base = outlook.act("go-on")
    if act.saves_later and act.cost is not None and base is not None and base.cost is not None:
        more = act.cost.expected - base.cost.expected
        if act.saves_later > 0:
            rounds = max(-(-more // act.saves_later), 0)
            saved = figures.money(act.saves_later, 4)
            lines.append(f"each later request costs {saved} less: paid back after {figures.plural(rounds, 'request')}")
    return lines
