"""A session on a screen: one line a request, the story of each lost cache under its line, and the sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Literal

from agentsim.core.session import Event, Request, Row, Session
from agentsim.core.verdict import Verdict
from agentsim.report import figures
from agentsim.report.losses import write_losses
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.never_read_line import write_in_vain
from agentsim.report.screen.small_misses import small_misses, words_of_small
from agentsim.report.screen.uncached_line import write_uncached
from agentsim.report.table import TableColumn, TableLayout
from agentsim.report.verdict_words import (
    EVENTS,
    KINDS,
    QUIET_EVENTS,
    advice_on,
    cause_title,
    headline,
    lane_names,
    where,
)
from agentsim.traces.session_names import names_of

if TYPE_CHECKING:
    from agentsim.diagnose import Diagnosis

Which = Literal["most", "all", "misses"]

BAR_CELLS = 22
FAILURES = frozenset({"api_error", "interrupted"})
"""Events that are told even where no request followed them."""

PLAIN_KINDS = frozenset({"first", "hit", "extended"})
"""Rows that need no story: their line says it all."""

SERVING = frozenset({"mooncake", "weka-kv-trace", "dynamo", "aiperf", "lmcache-agent-trace"})
"""Formats that know which prompts share a beginning, and nothing of what a cache did."""

MOST_NAMED = 3
"""Alternatives that are given their names; more of them would hide the verdict."""

_COMPLETENESS = {"full": "full bodies", "messages": "messages but no tools and system", "usage": "usage only"}
_INDENT = "     │ "
_LABELS = 13
"""Cells of the labels before what is established, to be checked, and the fix."""


def write_replay(
    paper: Paper,
    diagnosis: Diagnosis,
    *,
    rows: Which = "all",
    row: int | None = None,
    lane: str | None = None,
    content: bool = False,
) -> None:
    """Write a judged session. ``rows="misses"`` leaves out rows that lost nothing, ``most`` folds small misses into
    one line; ``row`` and ``lane`` keep one.

    Totals are those of the whole session whatever is left out. ``content`` shows the words around a difference.
    """
    session = diagnosis.session
    _heading(paper, session, content)
    table = _Rows(paper, diagnosis, lane, row)
    shown = table.show(rows, content)
    if shown == 0:
        cached = any(verdict.kind != "uncached" for verdict in diagnosis.verdicts)
        paper.line(
            "No requests." if rows != "misses" else "Nothing was lost." if cached else "Nothing was ever cached."
        )
    paper.line()
    _totals(paper, diagnosis)
    if session.format in SERVING and session.files:
        paper.line()
        text = "A serving trace has no counters of a cache and no prices: agentsim engine capacity "
        paper.paragraph(f"{text}{quote(session.files[0])} tells how much of it caches of every size would have read.")


class _Rows:
    """The table of requests of a session."""

    def __init__(self, paper: Paper, diagnosis: Diagnosis, lane: str | None, only: int | None = None) -> None:
        self._paper = paper
        self._session = diagnosis.session
        self._lanes = lane_names(diagnosis.session.lanes)
        self._whole = only is None
        self._verdicts = diagnosis.verdicts
        self._before: dict[str, int | None] = {}
        self._events, self._later = _by_request(diagnosis.session)
        self._models = len({row.request.model for row in diagnosis.rows}) > 1
        gaps = gaps_in_lanes(diagnosis.session.requests)
        numbered = zip(range(1, len(diagnosis.rows) + 1), diagnosis.rows, diagnosis.verdicts, gaps, strict=True)
        self._rows = [
            (row, verdict, self._cells(number, row, verdict, gap))
            for number, row, verdict, gap in numbered
            if (lane is None or row.request.lane == lane) and only in (None, number)
        ]
        several = len({row.request.lane for row, _, _ in self._rows}) > 1
        fresh = any(row.usage.fresh for row, _, _ in self._rows)
        columns = [
            TableColumn("#"),
            TableColumn("lane", "<", 8 if several else -1),
            TableColumn("start", "<", 6),
            TableColumn("gap", ">", 7),
            TableColumn("took", ">", 3),
            TableColumn("total", ">", 5),
            TableColumn("written"),
            TableColumn("read"),
            TableColumn("fresh", ">", 4 if fresh else 2),
            TableColumn("hit %", ">", 8),
            TableColumn("█ read ▒ write ░ fresh", "<", 0),
            TableColumn("cost", ">", 8),
            TableColumn("model", "<", 1 if self._models else -1),
            TableColumn("what happened", "<", 9, 13),
        ]
        keep = [index for index, column in enumerate(columns) if column.weight >= 0]
        self._keep = keep
        self._layout = TableLayout(
            [columns[i] for i in keep], [self._pick(cells) for _, _, cells in self._rows], paper.width
        )

    def show(self, which: Which, content: bool) -> int:
        """Write the table; returns how many rows it has."""
        wanted = [entry for entry in self._rows if which != "misses" or entry[1].kind == "miss"]
        if not wanted:
            return 0
        self._layout.head(self._paper)
        told: set[tuple[str, str]] = set()
        uncached: set[str] = set()
        folds = which == "most" and self._whole
        small = small_misses(verdict for _, verdict, _ in wanted) if folds else frozenset()
        today = figures.day(wanted[0][0].start)
        for row, verdict, cells in wanted:
            if figures.day(row.start) not in (today, figures.UNKNOWN):
                today = figures.day(row.start)
                self._paper.line(("     " + today, Style.FAINT))
            for event in self._events.get(row.request.id, ()):
                self._event(event)
            self._layout.row(self._paper, self._pick(cells))
            plain = verdict.kind in PLAIN_KINDS or row.request.id in small
            if not plain and not (verdict.kind == "uncached" and row.request.lane in uncached):
                advice = [line for line in advice_on(verdict, row.request, self._session) if line not in told]
                write_story(self._paper, verdict, advice, content=content)
                told.update(line for line in advice if line[0] != "suspect")
            if verdict.kind == "uncached":
                uncached.add(row.request.lane)
        for event in self._later if which != "misses" and self._whole else ():
            self._event(event)
        self._paper.line(("─" * min(self._layout.width, self._paper.width), Style.FAINT))
        if small:
            numbered = [(number, one) for number, one in enumerate(self._verdicts, 1) if one.request in small]
            self._paper.paragraph((words_of_small(numbered), Style.FAINT))
        return len(wanted)

    def _event(self, event: Event) -> None:
        told = f": {event.detail}" if event.kind == "api_error" and event.detail else ""
        self._paper.paragraph(
            (f"{EVENTS[event.kind]}{told}", Style.FAINT), first=[("     · ", Style.FAINT)], rest=[" " * 7]
        )

    def _pick(self, cells: Sequence[Span]) -> list[Span]:
        return [cells[index] for index in self._keep]

    def _cells(self, number: int, row: Row, verdict: Verdict, gap: int | None) -> list[Span]:
        usage, request = row.usage, row.request
        took = row.end - row.start if row.end is not None and row.start is not None else None
        total = usage.total_input
        return [
            f"{number:3d}",
            self._lanes.get(request.lane, request.lane),
            figures.clock(row.start),
            figures.span(gap),
            figures.span(took),
            figures.count(total),
            figures.count(usage.write),
            figures.count(usage.read),
            figures.count(usage.fresh),
            figures.per_cent(usage.read, total) if usage.read is not None else figures.UNKNOWN,
            bar(row),
            figures.row_money(row.cost),
            request.model,
            _what_happened(request, verdict),
        ]


def write_story(paper: Paper, verdict: Verdict, advice: Iterable[tuple[str, str]], *, content: bool = False) -> None:
    """Write what is known about a row under its line: the cause, the place, the price, what is sure and what is not,
    and what to do about it."""
    rule: list[Span] = [(_INDENT, Style.BAD if verdict.kind == "miss" else Style.FAINT)]
    if verdict.kind == "miss":
        place = f": {where(verdict.place)}" if verdict.place is not None else ""
        paper.paragraph((headline(verdict), Style.STRONG), place, first=rule, rest=rule)
        if content and verdict.place is not None:
            for label, text in (("before", verdict.place.before), ("after", verdict.place.after)):
                if text is not None:
                    _labelled(paper, rule, label, text)
        price = f", {figures.money(verdict.lost_cost)} more than reading them" if verdict.lost_cost is not None else ""
        paper.paragraph(f"lost {figures.plural(verdict.lost, 'token')}{price}", first=rule, rest=rule)
    elif verdict.place is not None:
        _labelled(paper, rule, "first change", where(verdict.place))
    if verdict.alternatives:
        # A proof leaves no other cause open: what else it names is the other half of the cause.
        label = "with" if verdict.evidence == "proved" else "or else"
        _labelled(paper, rule, label, _others(verdict.alternatives))
    for label, sentences in (("established", verdict.established), ("to check", verdict.to_check)):
        for number, sentence in enumerate(sentences):
            _labelled(paper, rule, "" if number else label, sentence)
    for label, text in advice:
        _labelled(paper, rule, label, text)


def gaps_in_lanes(requests: Iterable[Request]) -> list[int | None]:
    """For each request, the time from the start of the request before it in its lane."""
    before: dict[str, int | None] = {}
    gaps: list[int | None] = []
    for request in requests:
        earlier = before.get(request.lane)
        gaps.append(request.start - earlier if request.start is not None and earlier is not None else None)
        before[request.lane] = request.start
    return gaps


def bar(row: Row) -> str:
    """The parts of a prompt as a bar of fixed length: read, written, fresh. A part of one per cent shows."""
    parts = [row.usage.read or 0, row.usage.write or 0, row.usage.fresh or 0]
    total = sum(parts)
    if total == 0:
        return ""
    cells = [max(1 if part * 100 >= total else 0, part * BAR_CELLS // total) for part in parts]
    largest = parts.index(max(parts))
    cells[largest] += BAR_CELLS - sum(cells)
    return "".join(glyph * max(cells[i], 0) for i, glyph in enumerate("█▒░"))


def _heading(paper: Paper, session: Session, content: bool) -> None:
    names = names_of(session)
    lanes = len(session.lanes)
    models: dict[str, None] = dict.fromkeys(request.model for request in session.requests)
    parts = [session.format, _COMPLETENESS[session.completeness], figures.plural(lanes, "lane")]
    if session.harness and session.harness != session.format:
        parts.insert(1, session.harness)
    starts = [request.start for request in session.requests if request.start is not None]
    when = figures.day(min(starts)) if starts else ""
    facts = "".join(f" · {part}" for part in [names.place, when, *parts, *models] if part and part != figures.UNKNOWN)
    paper.paragraph(("Session ", Style.STRONG), (session.id, Style.STRONG), facts)
    words = session.title or names.title or names.first_words
    if content and words:
        paper.paragraph((words, Style.FAINT))
    paper.line()


def _what_happened(request: Request, verdict: Verdict) -> Span:
    word = KINDS[verdict.kind]
    if not request.counted:
        return ("copied from another session", Style.FAINT)
    if verdict.kind == "extended" and verdict.unlogged:
        return (f"hit, +{verdict.unlogged:,} unlogged", Style.GOOD)
    if verdict.kind != "miss":
        return word
    return (f"MISS {verdict.cause}" if verdict.cause else "MISS", Style.BAD)


def _others(codes: Sequence[str]) -> str:
    """Causes that remain possible: by name while they are few."""
    if len(codes) > MOST_NAMED:
        return ", ".join(codes)
    return "; ".join(f"{code} {cause_title(code)}".rstrip() for code in codes)


def _labelled(paper: Paper, rule: Sequence[Span], label: str, text: str) -> None:
    paper.paragraph(text, first=[*rule, (f"{label:<{_LABELS}}", Style.FAINT)], rest=[*rule, " " * _LABELS])


def _by_request(session: Session) -> tuple[dict[str, list[Event]], list[Event]]:
    """The events in front of each request, and those behind the last one. An event that names no request stands in
    front of the first one of its lane that began later."""
    found: dict[str, list[Event]] = {}
    later: list[Event] = []
    for event in session.events:
        if event.kind in QUIET_EVENTS:
            continue
        before = event.before
        if before is None and event.kind in FAILURES:
            before = _next_one(session, event)
            if before is None:
                later.append(event)
        if before is not None:
            found.setdefault(before, []).append(event)
    return found, later


def _next_one(session: Session, event: Event) -> str | None:
    if event.time is None:
        return None
    after = (one for one in session.requests if one.lane == event.lane and one.start is not None)
    return next((one.id for one in after if one.start is not None and one.start >= event.time), None)


def _logged(paper: Paper, diagnosis: Diagnosis) -> None:
    """What the log itself says that requests cost, where that is all that is known or is not what the prices say."""
    from agentsim.diagnose.logged_costs import logged_costs

    for cost in logged_costs(diagnosis.rows):
        named = (f"{figures.plural(cost.requests, 'request')} of ", cost.model)
        if cost.ours is None:
            paper.paragraph("the log's own cost of ", *named, ": ", (figures.money(cost.logged), Style.STRONG))
        elif cost.disagrees:
            factor = f", {cost.logged / cost.ours:.2f} times ours" if cost.ours else ""
            paper.paragraph(
                ("the log disagrees: ", Style.WARN),
                *named,
                f" cost {figures.money(cost.logged)} by its account and {figures.money(cost.ours)} by the prices here",
                factor,
            )


def _totals(paper: Paper, diagnosis: Diagnosis) -> None:
    totals = diagnosis.totals
    read, whole = totals.hit_rate
    parts = (("written", totals.written), ("read", totals.read), ("fresh", totals.fresh), ("output", totals.output))
    paper.paragraph(
        (figures.plural(totals.requests, "request"), Style.STRONG),
        ": " + ", ".join(f"{name} {figures.count(tokens)}" for name, tokens in parts),
        f"; hit rate {figures.per_cent(read, whole) + ' %' if whole else figures.UNKNOWN}",
    )
    priced = totals.requests - totals.unpriced
    if priced:
        paper.paragraph(
            (figures.money(totals.cost), Style.STRONG),
            f" in all, {figures.equivalents(totals.equivalents)} input equivalents",
        )
    if totals.unpriced:
        paper.paragraph((f"{figures.plural(totals.unpriced, 'request')} not priced: no price is known", Style.WARN))
    _logged(paper, diagnosis)
    if totals.unlogged:
        paper.paragraph(
            f"besides, at least {figures.plural(totals.unlogged, 'request')} that no log shows,"
            f" {_at_least(totals.known_unlogged_cost)}"
        )
    write_uncached(paper, diagnosis)
    write_in_vain(paper, diagnosis)
    write_losses(paper, totals.losses, totals.cost)
    if totals.misses > 1:
        from agentsim.diagnose.loss_findings import findings_of
        from agentsim.report.screen.findings_page import write_findings

        write_findings(paper, findings_of(diagnosis))


def _at_least(pico: int | None) -> str:
    return figures.money(None) if pico is None else f"at least {figures.money(pico)}"
