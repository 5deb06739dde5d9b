"""The sums of a session: what was lost to which cause, by model and by lane, with bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer

from agentsim.core.session import Row
from agentsim.core.sums import Sums, add, as_sums, known, new_sums
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.loss_findings import RepeatedLosses, findings_of
from agentsim.report import figures
from agentsim.report.verdict_words import KINDS, cause_title, lane_names
from agentsim.tui.base_screen import Document, Heading, Page
from agentsim.tui.ink import INK_CLASSES, INK_CSS, Ink, Piece, fit, lines, parts, safe, strip, wrap
from agentsim.tui.row_group import GroupField, RowGroup
from agentsim.tui.session_name import heading_of

LABEL = 44
LEAST_BAR = 8
MOST_REPEATED = 6


class TotalsLine(NamedTuple):
    """A line of the page, and the rows that it sums up; ``None``: no rows of its own."""

    pieces: list[Piece]
    group: RowGroup | None = None


Lines = list[TotalsLine]


class TotalsGroup(NamedTuple):
    """Sums over the rows of a ``key``. Money in picodollars, ``None`` where nothing that it is of has a price."""

    key: str
    requests: int
    read: int
    written: int
    fresh: int
    cost: int | None
    lost: int | None
    misses: int


def groups(diagnosis: Diagnosis, key: Callable[[Row], str]) -> list[TotalsGroup]:
    """Sums of the counted rows by what ``key`` says of them, the most expensive first."""
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
    return sorted(made, key=lambda group: (-(group.cost or 0), -group.read - group.written - group.fresh, group.key))


def _group(key: str, sums: Sums, lost: int, misses: int, unpriced: int) -> TotalsGroup:
    lost_cost = known(lost, misses, unpriced)
    return TotalsGroup(key, sums.requests, sums.read, sums.written, sums.fresh, sums.known_cost, lost_cost, misses)


def page(diagnosis: Diagnosis, width: int, found: RepeatedLosses | None = None) -> Lines:
    """The whole page of sums for a width. ``found`` is what repeats, where that is known already."""
    session = diagnosis.session
    out = [*map(TotalsLine, _sums(diagnosis, width)), *_causes(diagnosis, width)]
    lanes = lane_names(session.lanes)
    out += _grouped("By model", "model", groups(diagnosis, lambda row: row.request.model), width)
    by_lane = groups(diagnosis, lambda row: row.request.lane)
    out += _grouped("By lane", "lane", by_lane, width, lambda lane: lanes.get(lane, lane))
    by_purpose = groups(diagnosis, lambda row: row.request.purpose)
    out += _grouped("By purpose", "purpose", by_purpose, width, lambda purpose: purpose.replace("_", "-"))
    return [*out, *_repeated(findings_of(diagnosis) if found is None else found, width), *_kinds(diagnosis, width)]


def _sums(diagnosis: Diagnosis, width: int) -> list[list[Piece]]:
    totals = diagnosis.totals
    read, whole = totals.hit_rate
    out: list[list[Piece]] = [
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
    return out


def _heading(*pieces: Piece) -> Lines:
    return [TotalsLine([""]), TotalsLine(list(pieces))]


def _kinds(diagnosis: Diagnosis, width: int) -> Lines:
    totals = diagnosis.totals
    out = _heading(("What happened", Ink.STRONG))
    most = max((count for _, count in totals.kinds), default=1)
    for kind, count in sorted(totals.kinds, key=lambda item: (-item[1], item[0])):
        word = next((word for known, word in KINDS.items() if known == kind), kind)
        name = word if isinstance(word, str) else word[0]
        bar = bar_of(count, most, max(min(40, width - LABEL - 10), LEAST_BAR))
        ink = Ink.BAD if kind == "miss" else Ink.READ
        line: list[Piece] = ["  ", fit(name, LABEL - 14), f"{count:>8,}  ", (bar, ink)]
        out.append(TotalsLine(line, RowGroup("kind", kind, name)))
    return out


def _repeated(found: RepeatedLosses, width: int) -> Lines:
    """Losses that are one, and what stands in front of them; nothing where none comes twice."""
    if not found.repeated and found.lead is None:
        return []
    rows: list[list[Piece]] = []
    for one in found.repeated[:MOST_REPEATED]:
        title = f"{len(one.rows):,} × {one.cause} {one.what or cause_title(one.cause)}"
        cost = "" if one.cost is None else f", {figures.money(one.cost)}"
        rows.append(["  ", (title, Ink.NAME), f": {figures.plural(one.tokens, 'token')}{cost}, {one.rhythm}"])
        if one.lead is not None:
            rows.append([f"    {one.lead.sentence} ", ("A lead, no proof.", Ink.FAINT)])
    if len(found.repeated) > MOST_REPEATED:
        rows.append([(f"  and {figures.plural(len(found.repeated) - MOST_REPEATED, 'other')}", Ink.FAINT)])
    if found.lead is not None:
        rows.append([f"  Losses without a place: {found.lead.sentence} ", ("A lead, no proof.", Ink.FAINT)])
    wrapped = [TotalsLine(piece) for row in rows for piece in wrap(row, width, 4)]
    return [*_heading(("Losses that repeat", Ink.STRONG)), *wrapped]


def _causes(diagnosis: Diagnosis, width: int) -> Lines:
    totals = diagnosis.totals
    out = _heading(("Lost to causes", Ink.STRONG))
    if not totals.losses:
        return [*out, TotalsLine([("  nothing was lost", Ink.GOOD)])]
    most = max(loss.cost for loss in totals.losses) or max(loss.tokens for loss in totals.losses)
    label = max(min(LABEL, width - 44), 16)
    room = max(min(40, width - label - 36), LEAST_BAR)
    for loss in totals.losses:
        bar = bar_of(loss.cost or (loss.tokens if not totals.cost else 0), most, room)
        name = f"{loss.cause} {cause_title(loss.cause)}"
        cost = figures.money(None) if loss.known_cost is None else figures.row_money(loss.cost)
        misses = figures.plural(loss.count, "miss", "misses")
        line: list[Piece] = ["  ", fit(name, label), f"{misses:>10} {cost:>10} ", (bar, Ink.BAD)]
        out.append(TotalsLine(line, RowGroup("cause", loss.cause, name)))
    lost = totals.known_lost_cost
    share = f": {figures.per_cent(lost, totals.cost)} % of the bill" if totals.cost and lost is not None else ""
    tokens = figures.plural(totals.lost_tokens, "token")
    out.append(TotalsLine([(f"  in all {tokens}, {figures.money(lost)}{share}", Ink.STRONG)]))
    return out


def _grouped(
    title: str, field: GroupField, found: Sequence[TotalsGroup], width: int, named: Callable[[str], str] = str
) -> Lines:
    label = max(min(LABEL - 16, width - 50), 12)
    room = max(min(40, width - label - 46), LEAST_BAR)
    bars = "cost, ▓ of it lost"
    titles = f"{'requests':>9} {'hit %':>7} {'cost':>10} {'lost':>10}  {bars if len(bars) <= room else '▓ lost'}"
    out = _heading((fit(title, label + 2), Ink.STRONG), (titles, Ink.FAINT))
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
        name = named(group.key)
        line: list[Piece] = ["  ", fit(name, label), figure, (kept, Ink.READ), ("▓" * len(gone), Ink.BAD)]
        out.append(TotalsLine(line, RowGroup(field, group.key, name)))
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


class TotalsLines(ScrollView, can_focus=True):
    """The lines of the page, with a cursor that stands on those that rows belong to."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*INK_CLASSES, "lines--cursor"}
    DEFAULT_CSS = (
        "TotalsLines { background: $surface; color: $foreground; overflow-x: hidden; scrollbar-size-vertical: 1;\n"
        + INK_CSS
        + "& > .lines--cursor { background: $cursor-row; text-style: bold; }\n}"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("g,home", "first", show=False),
        Binding("G,end", "last", show=False),
        Binding("enter", "open", "Only these rows", key_display="Enter"),
    ]

    class Opened(Message):
        """The rows of a line are wanted."""

        def __init__(self, group: RowGroup) -> None:
            super().__init__()
            self.group = group

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__()
        self._diagnosis = diagnosis
        self._found: RepeatedLosses | None = None
        self._lines: Lines = []
        self._stops: list[int] = []
        self._stop = 0

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the width."""
        if self._found is None:
            self._found = findings_of(self._diagnosis)
        self._lines = page(self._diagnosis, max(self.size.width - 4, 40), self._found)
        self._stops = [number for number, line in enumerate(self._lines) if line.group is not None]
        self.virtual_size = Size(self.size.width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        number = self.scroll_offset.y + y
        base, width = self.rich_style, self.scrollable_content_region.width
        if number >= len(self._lines):
            return Strip.blank(width, base)
        chosen = bool(self._stops) and number == self._stops[self._stop]
        if chosen:
            base += self.get_component_rich_style("lines--cursor", partial=True)
        segments = [Segment("▌" if chosen else " ", base)]
        for text, ink in map(parts, self._lines[number].pieces):
            # Faint text would vanish on the cursor's ground.
            plain = ink is Ink.PLAIN or (ink is Ink.FAINT and chosen)
            style = base if plain else base + self.get_component_rich_style(f"ink--{ink.value}", partial=True)
            segments.append(Segment(safe(text), style))
        return strip(segments, width, base)

    def _go(self, stop: int) -> None:
        self._stop = max(0, min(stop, len(self._stops) - 1))
        height = max(self.size.height, 1)
        top, line = self.scroll_offset.y, self._stops[self._stop] if self._stops else 0
        if self._stop == 0:
            top = 0  # the sums above the first line are seen again
        elif self._stop == len(self._stops) - 1:
            top = max(len(self._lines) - height, 0)
        elif line < top:
            top = line
        elif line >= top + height:
            top = line - height + 1
        self.scroll_to(y=top, animate=False, force=True)
        self.refresh()

    def action_move(self, lines: int) -> None:
        """To the next line that rows belong to."""
        self._go(self._stop + lines)

    def action_first(self) -> None:
        """To the top."""
        self._go(0)

    def action_last(self) -> None:
        """To the end."""
        self._go(len(self._stops) - 1)

    def action_open(self) -> None:
        """Ask for the rows of the line under the cursor."""
        group = self._lines[self._stops[self._stop]].group if self._stops else None
        if group is not None:
            self.post_message(self.Opened(group))

    def on_click(self, event: events.Click) -> None:
        """A line takes the cursor, and a second click opens it."""
        number = self.scroll_offset.y + event.y
        if number in self._stops:
            stop = self._stops.index(number)
            if stop == self._stop and event.chain > 1:
                self.action_open()
            self._go(stop)


class TotalsScreen(Page):
    """The sums of one session. ``choose`` is told the rows of a line that was opened."""

    HELP_TITLE = "Totals"
    HELP_KEYS = (("Enter", "only the rows that the line sums up (Esc there shows all again)"),)

    def __init__(self, diagnosis: Diagnosis, choose: Callable[[RowGroup], None]) -> None:
        super().__init__()
        self.diagnosis = diagnosis
        self._choose = choose

    def compose(self) -> ComposeResult:
        """Heading, page, footer."""
        yield Heading()
        yield TotalsLines(self.diagnosis)
        yield Footer(show_command_palette=False)

    def opened(self) -> None:
        """Focus the page."""
        session = self.diagnosis.session
        self.query_one(Heading).say([*heading_of(session), (" · totals", Ink.FAINT)])
        self.query_one(TotalsLines).focus()

    def on_totals_lines_opened(self, event: TotalsLines.Opened) -> None:
        """Leave for the rows."""
        self._choose(event.group)
        self.program.leave(self)

    def documents(self) -> dict[str, Document]:
        """The page as text."""
        return {"markdown": self._as_markdown}

    def _as_markdown(self) -> tuple[str, str]:
        shown = lines(line.pieces for line in page(self.diagnosis, 100))
        text = "\n".join(line.plain.rstrip() for line in shown.split("\n"))
        return f"{self.diagnosis.session.id[:40]}-totals.md", f"```text\n{text}\n```\n"
