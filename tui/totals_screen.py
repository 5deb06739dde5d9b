"""The sums of a session: what was lost to which cause, by model and by lane, with bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Footer, Static

from agentsim.core.session import Row
from agentsim.core.sums import Sums, add, as_sums, known, new_sums
from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.report.verdict_words import KINDS, cause_title, lane_names
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.ink import Ink, Piece, fit, lines
from agentsim.tui.session_name import heading_of

LABEL = 44
LEAST_BAR = 8
Lines = list[list[Piece]]


class TotalsGroup(NamedTuple):
    """Sums over some rows. Money in picodollars, ``None`` where nothing that it is of has a price."""

    name: str
    requests: int
    read: int
    written: int
    fresh: int
    cost: int | None
    lost: int | None
    misses: int


def groups(diagnosis: Diagnosis, key: Callable[[Row], str]) -> list[TotalsGroup]:
    """Sums of the counted rows by what ``key`` says of them, the dearest first."""
    found: dict[str, list[int]] = {}
    for row, verdict in zip(diagnosis.rows, diagnosis.verdicts, strict=True):
        if row.request.counted:
            into = found.setdefault(key(row), [*new_sums(), 0, 0, 0])
            add(into, row.usage, row.cost, None)
            if verdict.kind == "miss":
                into[-3] += verdict.lost_cost or 0
                into[-2] += 1
                into[-1] += verdict.lost_cost is None
    made = [_group(name, as_sums(numbers[:-3]), *numbers[-3:]) for name, numbers in found.items()]
    return sorted(made, key=lambda group: (-(group.cost or 0), -group.read - group.written - group.fresh, group.name))


def _group(name: str, sums: Sums, lost: int, misses: int, unpriced: int) -> TotalsGroup:
    lost_cost = known(lost, misses, unpriced)
    return TotalsGroup(name, sums.requests, sums.read, sums.written, sums.fresh, sums.known_cost, lost_cost, misses)


def page(diagnosis: Diagnosis, width: int) -> Lines:
    """The whole page of sums for a width."""
    totals = diagnosis.totals
    read, whole = totals.hit_rate
    out: Lines = [
        [
            (figures.plural(totals.requests, "request"), Ink.STRONG),
            f", hit rate {figures.per_cent(read, whole)} %, ",
            (figures.money(totals.known_cost), Ink.STRONG),
            "" if totals.known_cost is None else f", {figures.equivalents(totals.equivalents)} input equivalents",
        ],
        _parts_bar(totals.read, totals.written, totals.fresh, width),
        [
            ("█", Ink.READ),
            f" read {figures.count(totals.read)}  ",
            ("▒", Ink.WRITTEN),
            f" written {figures.count(totals.written)}  ",
            ("░", Ink.FRESH),
            f" fresh {figures.count(totals.fresh)}  ",
            (f"output {figures.count(totals.output)}", Ink.FAINT),
        ],
    ]
    if totals.unpriced:
        out.append([(f"{figures.plural(totals.unpriced, 'request')} without a known price", Ink.WARN)])
    if totals.unlogged:
        unlogged = f"at least {figures.plural(totals.unlogged, 'more request')} that the log does not show"
        known = totals.known_unlogged_cost
        least = figures.money(None) if known is None else f"at least {figures.money(known)}"
        out.append([(f"{unlogged}, {least}", Ink.WARN)])
    out += _causes(diagnosis, width)
    lanes = lane_names(diagnosis.session.lanes)
    out += _grouped("By model", groups(diagnosis, lambda row: row.request.model), width)
    out += _grouped("By lane", groups(diagnosis, lambda row: lanes.get(row.request.lane, row.request.lane)), width)
    out += _grouped("By purpose", groups(diagnosis, lambda row: row.request.purpose.replace("_", "-")), width)
    out += [[""], [("What happened", Ink.STRONG)]]
    most = max((count for _, count in totals.kinds), default=1)
    for kind, count in sorted(totals.kinds, key=lambda item: (-item[1], item[0])):
        word = next((word for known, word in KINDS.items() if known == kind), kind)
        name = word if isinstance(word, str) else word[0]
        bar = bar_of(count, most, max(min(40, width - LABEL - 10), LEAST_BAR))
        ink = Ink.BAD if kind == "miss" else Ink.READ
        out.append(["  ", fit(name, LABEL - 14), f"{count:>8,}  ", (bar, ink)])
    return out


def _causes(diagnosis: Diagnosis, width: int) -> Lines:
    totals = diagnosis.totals
    out: Lines = [[""], [("Lost to causes", Ink.STRONG)]]
    if not totals.losses:
        return [*out, [("  nothing was lost", Ink.GOOD)]]
    most = max(loss.cost for loss in totals.losses) or max(loss.tokens for loss in totals.losses)
    label = max(min(LABEL, width - 44), 16)
    room = max(min(40, width - label - 36), LEAST_BAR)
    for loss in totals.losses:
        bar = bar_of(loss.cost or (loss.tokens if not totals.cost else 0), most, room)
        name = f"{loss.cause} {cause_title(loss.cause)}"
        cost = figures.money(None) if loss.known_cost is None else figures.row_money(loss.cost)
        misses = figures.plural(loss.count, "miss", "misses")
        out.append(["  ", fit(name, label), f"{misses:>10} {cost:>10} ", (bar, Ink.BAD)])
    lost = totals.known_lost_cost
    share = f": {figures.per_cent(lost, totals.cost)} % of the bill" if totals.cost and lost is not None else ""
    tokens = figures.plural(totals.lost_tokens, "token")
    out.append([(f"  in all {tokens}, {figures.money(lost)}{share}", Ink.STRONG)])
    return out


def _grouped(title: str, found: Iterable[TotalsGroup], width: int) -> Lines:
    found = list(found)
    label = max(min(LABEL - 16, width - 50), 12)
    room = max(min(40, width - label - 46), LEAST_BAR)
    bars = "cost, ▓ of it lost"
    titles = f"{'requests':>9} {'hit %':>7} {'cost':>10} {'lost':>10}  {bars if len(bars) <= room else '▓ lost'}"
    out: Lines = [[""], [(fit(title, label + 2), Ink.STRONG), (titles, Ink.FAINT)]]
    most = max((group.cost or 0 for group in found), default=0) or 1
    for group in found:
        total = group.read + group.written + group.fresh
        figure = (
            f"{group.requests:>9,} {figures.per_cent(group.read, total):>7} {figures.row_money(group.cost):>10} "
            f"{figures.row_money(group.lost):>10} "
        )
        cost = group.cost or 0
        kept = bar_of(cost - min(group.lost or 0, cost), most, room)
        gone = bar_of(cost, most, room)[len(kept) :]
        out.append(["  ", fit(group.name, label), figure, (kept, Ink.READ), ("▓" * len(gone), Ink.BAD)])
    return out


def bar_of(amount: int, most: int, room: int) -> str:
    """A bar that is ``room`` long for ``most``; any amount above zero shows."""
    if amount <= 0 or most <= 0:
        return ""
    return "█" * max(1, (amount * room + most // 2) // most)


def _parts_bar(read: int, written: int, fresh: int, width: int) -> list[Piece]:
    total = read + written + fresh
    room = max(width - 2, LEAST_BAR)
    if not total:
        return [""]
    one, two = read * room // total, (read + written) * room // total
    return [("█" * one, Ink.READ), ("▒" * (two - one), Ink.WRITTEN), ("░" * (room - two), Ink.FRESH)]


class TotalsScreen(Page):
    """The sums of one session."""

    CSS = "TotalsScreen VerticalScroll { padding: 0 1; background: $surface; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
        Binding("g", "top", show=False),
        Binding("G", "bottom", show=False),
    ]
    HELP_TITLE = "Totals"
    HELP_KEYS = (("j k", "scroll"),)

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__()
        self.diagnosis = diagnosis

    def compose(self) -> ComposeResult:
        """Heading, page, footer."""
        yield Heading()
        with VerticalScroll():
            yield Static(id="sums")
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Focus the page."""
        session = self.diagnosis.session
        self.query_one(Heading).say([*heading_of(session), (" · totals", Ink.FAINT)])
        self.query_one(VerticalScroll).focus()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the width."""
        self.query_one("#sums", Static).update(lines(page(self.diagnosis, max(event.size.width - 4, 40))))

    def action_scroll(self, direction: int) -> None:
        """Scroll."""
        self.query_one(VerticalScroll).scroll_relative(y=direction, animate=False)

    def action_top(self) -> None:
        """To the top."""
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_bottom(self) -> None:
        """To the end."""
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def documents(self) -> dict[str, Document]:
        """The page as text."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        text = "\n".join(line.plain.rstrip() for line in lines(page(self.diagnosis, 100)).split("\n"))
        return f"{self.diagnosis.session.id[:40]}-totals.md", f"```text\n{text}\n```\n"
