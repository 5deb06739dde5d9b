"""The rows of a session as a grid shows them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

from agentsim.core.session import Lane, Request, Row
from agentsim.core.sums import known_sum
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.report import figures
from agentsim.report.clean import display_width
from agentsim.report.verdict_words import KINDS, cause_title, lane_names
from agentsim.tui.grid import GridColumn
from agentsim.tui.ink import Ink, Piece, safe
from agentsim.tui.row_group import RowGroup
from agentsim.tui.trace.row_order import UNSORTED, LaneView, Matches, arrange, lane_tree, previous_in_lane

AT_ONCE = 200_000
"""Sessions of more rows than this get their gaps from a worker, after the first paint."""
SAMPLE = 500
"""Rows that are measured to choose the widths of columns."""

UNEXPLAINED = "AS9"
"""How the codes of losses without a known cause begin."""

KIND_INKS: dict[str, Ink] = {
    "first": Ink.FAINT,
    "hit": Ink.GOOD,
    "extended": Ink.GOOD,
    "shorter": Ink.GOOD,
    "recovered": Ink.GOOD,
    "compaction": Ink.FAINT,
    "miss": Ink.BAD,
    "uncached": Ink.WARN,
    "unreported": Ink.FAINT,
}


class TraceRows:
    """A view on a judged session: filtered, sorted, with lanes merged by time or as a tree."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self.only_misses = False
        self.wanted = ""
        self.group: RowGroup | None = None
        self.sort = UNSORTED
        self.descending = False
        self.lanes: LaneView = "time"
        self.folded: set[str] = set()
        self.revised: Mapping[str, Row] | None = None
        self._verdicts: Mapping[str, Verdict] = {}
        self._base: Mapping[str, Row] = {}
        self._take(diagnosis)
        self.arrange()

    def _take(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        session = diagnosis.session
        self.names = lane_names(session.lanes)
        self._lane_by_id = {lane.id: lane for lane in session.lanes}
        self._before: array[int] | None = None
        if len(session.requests) <= AT_ONCE:
            self._before = previous_in_lane(session.requests)
        self._several_days = _several_days(diagnosis.rows)
        step = max(len(session.requests) // AT_ONCE, 1)
        self._speaks = any(request.diagnosis.reported for request in session.requests[::step])
        self._headings: dict[str, str] = {}
        self.columns = self._columns()

    def replace(self, diagnosis: Diagnosis) -> None:
        """Show a newer state of the same session in the same way."""
        self._take(diagnosis)
        self.arrange()

    def complete(self, before: array[int]) -> None:
        """Take the look-up that was left for later."""
        self._before = before

    @property
    def is_complete(self) -> bool:
        """Whether gaps are known."""
        return self._before is not None

    def arrange(self) -> None:
        """Choose and order the lines anew."""
        order = arrange(
            self.diagnosis,
            only_misses=self.only_misses,
            wanted=self.wanted,
            group=self.group,
            sort=self.sort,
            descending=self.descending,
            gaps=self.gap,
        )
        self.headings: list[tuple[Lane, int]] = []
        self._lines = self._as_tree(order) if self.lanes == "tree" else order

    def _as_tree(self, order: array[int]) -> array[int]:
        """Lines grouped by lane; a heading is the negative of its number in ``headings``, from 1."""
        by_lane: dict[str, array[int]] = {}
        requests = self.diagnosis.session.requests
        for index in order:
            by_lane.setdefault(requests[index].lane, array("q")).append(index)
        known = list(self.diagnosis.session.lanes)
        known += [Lane(id=id, title=id) for id in by_lane if id not in self._lane_by_id]
        lines = array("q")
        hidden_below: int | None = None
        for lane, depth in lane_tree(known):
            if hidden_below is not None and depth > hidden_below:
                continue
            hidden_below = depth if lane.id in self.folded else None
            self.headings.append((lane, depth))
            lines.append(-len(self.headings))
            if lane.id not in self.folded:
                lines.extend(by_lane.get(lane.id, ()))
        return lines

    # What a grid asks

    def __len__(self) -> int:
        return len(self._lines)

    def cells(self, line: int) -> Sequence[Piece]:
        """The cells of a line."""
        index = self._lines[line]
        if index < 0:
            return [self._heading(-index - 1)]
        row, verdict = self.diagnosis.rows[index], self.diagnosis.verdicts[index]
        request, usage = row.request, row.usage
        total = usage.total_input
        took = row.end - row.start if row.end is not None and row.start is not None else None
        cells: list[Piece] = [
            str(index + 1),
            (self.names.get(request.lane, request.lane), Ink.NAME),
            self.start(row),
            figures.span(self.gap(index)),
            figures.span(took),
            figures.count(total),
            (figures.count(usage.write), Ink.WRITTEN if usage.write else Ink.FAINT),
            (figures.count(usage.read), Ink.READ if usage.read else Ink.FAINT),
            (figures.count(usage.fresh), Ink.FRESH if usage.fresh else Ink.FAINT),
            figures.per_cent(usage.read, total) if usage.read is not None else figures.UNKNOWN,
            figures.row_money(row.cost),
        ]
        if self.revised is not None:
            cells += self._revised_cells(row)
        cells.append(what_happened(request, verdict))
        if self.revised is not None:
            cells.append(self._outcome(row))
        cells += [(provider_says(request), Ink.FAINT), (request.model, Ink.FAINT)]
        return cells

    def _revised_cells(self, row: Row) -> list[Piece]:
        revised = self.revised.get(row.request.id) if self.revised is not None else None
        if revised is None:
            return [("–", Ink.FAINT)] * 4
        cells: list[Piece] = []
        for old, new in ((row.usage.write, revised.usage.write), (row.usage.read, revised.usage.read)):
            cells.append((figures.count(new), Ink.FAINT if old == new else Ink.STRONG))
        base = self._base.get(row.request.id)
        if base is None or base.cost is None or revised.cost is None:
            return [*cells, *[(figures.UNKNOWN, Ink.FAINT)] * 2]
        change = revised.cost - base.cost
        ink = Ink.FAINT if not change else Ink.WARN if change > 0 else Ink.GOOD
        sign = "+" if change > 0 else "−"
        cells.append((figures.row_money(revised.cost), ink))
        cells.append((sign + figures.row_money(abs(change)) if change else "=", ink))
        return cells

    def _outcome(self, row: Row) -> Piece:
        """What would have happened; "=" where a row reads as much of as long a prompt as it does without the policies.

        A loss that remains is named without a cause where none is found: the simulation knows it, its rows do not.
        """
        id = row.request.id
        revised, base = self.revised.get(id) if self.revised is not None else None, self._base.get(id)
        verdict = self._verdicts.get(id)
        if revised is None or verdict is None:
            return ("–", Ink.FAINT)
        if base is not None and _reach(base) == _reach(revised):
            return ("=", Ink.FAINT)
        if verdict.kind == "miss" and (verdict.cause or UNEXPLAINED).startswith(UNEXPLAINED):
            return ("✗ MISS", Ink.BAD)
        return what_happened(revised.request, verdict)

    # What screens ask

    def index_at(self, line: int) -> int | None:
        """The row on a line, ``None`` for a heading or no line."""
        if not 0 <= line < len(self._lines):
            return None
        index = self._lines[line]
        return index if index >= 0 else None

    def lane_at(self, line: int) -> Lane | None:
        """The lane whose heading stands on a line."""
        if not 0 <= line < len(self._lines) or self._lines[line] >= 0:
            return None
        return self.headings[-self._lines[line] - 1][0]

    def line_of(self, index: int) -> int | None:
        """The line that shows a row."""
        if self.lanes == "time" and self.sort == UNSORTED and not self.is_filtered:
            return len(self._lines) - 1 - index if self.descending else index
        try:
            return self._lines.index(index)
        except ValueError:
            return None

    @property
    def is_filtered(self) -> bool:
        """Whether some rows are left out."""
        return bool(self.wanted) or self.only_misses or self.group is not None

    def nearest(self, index: int) -> int:
        """The line of a row, or where it is hidden of one that stands near it."""
        line = self.line_of(index)
        if line is not None:
            return line
        later = (line for line, other in enumerate(self._lines) if other >= index)
        return next(later, max(len(self._lines) - 1, 0))

    def find(self, line: int, step: int, test: Callable[[int], bool]) -> int | None:
        """The next line after (``step`` 1) or before (-1) this one whose row passes the test, going round once."""
        count = len(self._lines)
        for distance in range(1, count + 1):
            other = (line + step * distance) % count
            index = self._lines[other]
            if index >= 0 and test(index):
                return other
        return None

    def is_miss(self, index: int) -> bool:
        """Whether a row lost its cache."""
        return self.diagnosis.verdicts[index].kind == "miss"

    def matcher(self, wanted: str) -> Callable[[int], bool]:
        """The test of a search."""
        return Matches(self.diagnosis, wanted)

    def gap(self, index: int) -> int | None:
        """Nanoseconds since the start of the request before in the lane."""
        if self._before is None:
            return None
        before = self._before[index]
        start = self.diagnosis.rows[index].start
        earlier = self.diagnosis.rows[before].start if before >= 0 else None
        return start - earlier if start is not None and earlier is not None else None

    def start(self, row: Row) -> str:
        """When a row started, with its day where the session has several."""
        clock = figures.clock(row.start)
        return f"{figures.day(row.start)[5:]} {clock}" if self._several_days and row.start is not None else clock

    def _heading(self, number: int) -> Piece:
        lane, depth = self.headings[number]
        text = self._headings.get(lane.id)
        if text is None:
            text = self._headings[lane.id] = self._sum(lane)
        fold = "▸" if lane.id in self.folded else "▾"
        name = self.names.get(lane.id, lane.id)
        title = f" {safe(lane.title)}" if lane.title not in (name, lane.id, lane.purpose) else ""
        branch = "  " * (depth - 1) + "└ " if depth else ""
        return (f"{branch}{fold} {safe(name)}{title} · {text}", Ink.NAME)

    def _sum(self, lane: Lane) -> str:
        rows = [
            (row, verdict)
            for row, verdict in zip(self.diagnosis.rows, self.diagnosis.verdicts, strict=True)
            if row.request.lane == lane.id and row.request.counted
        ]
        lost = sum(1 for _, verdict in rows if verdict.kind == "miss")
        parts = [figures.plural(len(rows), "request"), figures.money(known_sum(row.cost for row, _ in rows))]
        if lost:
            parts.append(figures.plural(lost, "miss", "misses"))
            cost = known_sum(verdict.lost_cost for _, verdict in rows if verdict.kind == "miss")
            if cost is not None:
                parts.append(f"{figures.money(cost)} lost")
        return ", ".join(parts)

    def set_revised(
        self,
        revised: Mapping[str, Row] | None,
        verdicts: Mapping[str, Verdict] | None = None,
        base: Mapping[str, Row] | None = None,
    ) -> None:
        """Show what each row would be under other policies beside what it was; ``None``: no longer.

        ``base`` are the rows simulated as recorded: a change in cost is the policies' and not the simulation's. Without
        it no money is named.
        """
        self.revised = revised
        self._verdicts = verdicts or {}
        self._base = base or {}
        self.columns = self._columns()

    def _columns(self) -> tuple[GridColumn, ...]:
        rows = self.diagnosis.rows
        step = max(len(rows) // SAMPLE, 1)
        sample = [rows[index] for index in range(0, len(rows), step)]
        spare = 0 if step == 1 else 1

        def tokens(title: str, values: list[int | None]) -> int:
            return max(len(title), max((len(figures.count(value)) for value in values), default=0) + spare)

        lanes = max((display_width(safe(name)) for name in self.names.values()), default=4)
        several = len(self.names) > 1
        models = len({row.request.model for row in sample}) > 1
        total = tokens("total", [row.usage.total_input for row in sample])
        columns = [
            GridColumn("number", "#", max(3, len(str(len(rows))))),
            GridColumn("lane", "lane", min(max(lanes, 4), 12) if several else 0, "<", 8),
            GridColumn("start", "start", 14 if self._several_days else _start_width(rows), "<", 6),
            GridColumn("gap", "gap", 7, ">", 7),
            GridColumn("took", "took", 7, ">", 3),
            GridColumn("total", "total", total, ">", 5),
            GridColumn("written", "written", max(total, 7)),
            GridColumn("read", "read", max(total, 4)),
            GridColumn("fresh", "fresh", tokens("fresh", [row.usage.fresh for row in sample]), ">", 2),
            GridColumn("hit", "hit %", 6, ">", 8),
            GridColumn("cost", "cost", 8, ">", 8),
        ]
        if self.revised is not None:
            columns += [
                GridColumn("new_written", "→ written", max(total, 9), ">", 8),
                GridColumn("new_read", "→ read", max(total, 6), ">", 8),
                GridColumn("new_cost", "→ cost", 8, ">", 9),
                GridColumn("change", "change", 9, ">", 7),
            ]
        columns.append(GridColumn("happened", "what happened", 24 if self.revised is None else 13, "<", 9, True))
        if self.revised is not None:
            columns.append(GridColumn("outcome", "→ outcome", 13, "<", 9, True))
        columns += [
            GridColumn("said", "provider says", 22 if self._speaks else 0, "<", 4),
            GridColumn("model", "model", 18 if models else 0, "<", 1),
        ]
        return tuple(columns)


def what_happened(request: Request, verdict: Verdict) -> Piece:
    """The class of a row in a few words, the most telling first."""
    if not request.counted:
        return ("copied from another session", Ink.FAINT)
    ink = KIND_INKS.get(verdict.kind, Ink.PLAIN)
    if verdict.kind == "miss":
        return (f"✗ MISS {verdict.cause or ''} {cause_title(verdict.cause or '')}".rstrip(), ink)
    if verdict.kind == "extended" and verdict.unlogged:
        return (f"hit, +{verdict.unlogged:,} unlogged", ink)
    word = KINDS[verdict.kind]
    return (word if isinstance(word, str) else word[0], ink)


def provider_says(request: Request) -> str:
    """The provider's own reason for a lost prefix."""
    diagnosis = request.diagnosis
    if not diagnosis.reported:
        return ""
    return (diagnosis.reason or "no difference").replace("_", " ")


def _reach(row: Row) -> tuple[int | None, int | None]:
    return row.usage.read, row.usage.total_input


def _start_width(rows: Sequence[Row]) -> int:
    """The cells of the last time: those that count from a beginning may go on for more than a day."""
    last = next((row.start for row in reversed(rows) if row.start is not None), None)
    return max(len(figures.clock(last)), 8)


def _several_days(rows: Sequence[Row]) -> bool:
    first = next((row.start for row in rows if row.start is not None), None)
    last = next((row.start for row in reversed(rows) if row.start is not None), None)
    return figures.day(first) != figures.day(last)
