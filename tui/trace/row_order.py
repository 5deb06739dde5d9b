"""Which rows of a session are shown, and in which order. Works on row numbers only: an array, whatever the session."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from agentsim.core.session import Lane, Request, Row
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.report.verdict_words import KINDS
from agentsim.tui.row_group import RowGroup

LaneView = Literal["time", "tree"]

UNSORTED = "number"

_PER_ROW: dict[str, Callable[[Row, Verdict], int | None]] = {
    "start": lambda row, verdict: row.start,
    "took": lambda row, verdict: None if row.end is None or row.start is None else row.end - row.start,
    "total": lambda row, verdict: row.usage.total_input,
    "written": lambda row, verdict: row.usage.write,
    "read": lambda row, verdict: row.usage.read,
    "fresh": lambda row, verdict: row.usage.fresh,
    "hit": lambda row, verdict: _hit(row),
    "cost": lambda row, verdict: row.cost,
    "lost": lambda row, verdict: verdict.lost_cost,
}

SORTS = ("number", "start", "gap", "took", "total", "written", "read", "fresh", "hit", "cost", "lost", "happened")
"""What rows can be sorted by, in the order in which a key goes through them."""


def _hit(row: Row) -> int | None:
    total = row.usage.total_input
    return None if not total or row.usage.read is None else row.usage.read * 10**9 // total


def misses(verdicts: Sequence[Verdict]) -> list[int]:
    """The numbers (from 0) of rows that lost their cache."""
    return [index for index, verdict in enumerate(verdicts) if verdict.kind == "miss"]


class Matches:
    """Whether a row's id, lane, model, cause, class or the provider's reason holds a text. Case does not matter.

    What many rows share is looked at once, so that a million rows take a fraction of a second.
    """

    def __init__(self, diagnosis: Diagnosis, wanted: str) -> None:
        session = diagnosis.session
        self._requests, self._verdicts = session.requests, diagnosis.verdicts
        self._needle = needle = wanted.casefold()
        self._number = int(wanted) - 1 if wanted.isascii() and wanted.isdecimal() and len(wanted) < 10 else -1

        def holding(names: Iterable[tuple[str, str]]) -> frozenset[str]:
            return frozenset(name for name, title in names if needle in name.casefold() or needle in title.casefold())

        titles = {lane.id: lane.title for lane in session.lanes}
        self._kinds = holding((kind, _kind_word(kind)) for kind in KINDS)
        self._causes = holding((code, it.title) for code, it in CAUSES.items())
        self._lanes = holding((lane, titles.get(lane, "")) for lane in {r.lane for r in self._requests})
        self._models = holding((model, "") for model in {r.model for r in self._requests})
        reasons = {r.diagnosis.reason for r in self._requests}
        self._reasons = holding((reason, "") for reason in reasons if reason is not None)

    def __call__(self, index: int) -> bool:
        """Whether a row matches."""
        request, verdict = self._requests[index], self._verdicts[index]
        return (
            self._needle in request.id.casefold()
            or verdict.kind in self._kinds
            or verdict.cause in self._causes
            or request.model in self._models
            or request.lane in self._lanes
            or request.diagnosis.reason in self._reasons
            or index == self._number
        )

    def all(self) -> list[int]:
        """Every row that matches; much faster than asking for each."""
        needle = self._needle
        found = {index for index, request in enumerate(self._requests) if needle in request.id.casefold()}
        if 0 <= self._number < len(self._requests):
            found.add(self._number)
        requests, verdicts = self._requests, self._verdicts
        if self._kinds:
            found.update(i for i, verdict in enumerate(verdicts) if verdict.kind in self._kinds)
        if self._causes:
            found.update(i for i, verdict in enumerate(verdicts) if verdict.cause in self._causes)
        if self._lanes:
            found.update(i for i, request in enumerate(requests) if request.lane in self._lanes)
        if self._models:
            found.update(i for i, request in enumerate(requests) if request.model in self._models)
        if self._reasons:
            found.update(i for i, request in enumerate(requests) if request.diagnosis.reason in self._reasons)
        return sorted(found)


def _kind_word(kind: str) -> str:
    word = next((word for known, word in KINDS.items() if known == kind), "")
    return word if isinstance(word, str) else word[0]


def arrange(
    diagnosis: Diagnosis,
    *,
    only_misses: bool = False,
    wanted: str = "",
    group: RowGroup | None = None,
    sort: str = UNSORTED,
    descending: bool = False,
    gaps: Callable[[int], int | None] | None = None,
) -> array[int]:
    """The rows to show, in order: filtered, then sorted. What is unknown comes last either way."""
    count = len(diagnosis.rows)
    chosen: Iterable[int] = misses(diagnosis.verdicts) if only_misses else range(count)
    if group is not None:
        of_group = group.rows(diagnosis)
        chosen = sorted(set(of_group).intersection(chosen)) if only_misses else of_group
    if wanted and group is not None:
        matches = Matches(diagnosis, wanted)
        chosen = [index for index in chosen if matches(index)]
    elif wanted:
        matches = Matches(diagnosis, wanted)
        chosen = [index for index in chosen if matches(index)] if only_misses else matches.all()
    if sort == UNSORTED:
        order = array("q", chosen)
        return array("q", reversed(order)) if descending else order
    if sort == "happened":
        verdicts = diagnosis.verdicts
        return array(
            "q", sorted(chosen, key=lambda i: (verdicts[i].kind, verdicts[i].cause or "", i), reverse=descending)
        )
    rows, verdicts = diagnosis.rows, diagnosis.verdicts
    if sort == "gap":
        value: Callable[[int], int | None] = gaps or (lambda index: None)
    else:
        per_row = _PER_ROW[sort]
        value = lambda index: per_row(rows[index], verdicts[index])  # noqa: E731
    known: list[tuple[int, int]] = []
    unknown: list[int] = []
    for index in chosen:
        amount = value(index)
        if amount is None:
            unknown.append(index)
        else:
            known.append((-amount if descending else amount, index))
    known.sort()
    return array("q", [*(index for _, index in known), *unknown])


def previous_in_lane(requests: Sequence[Request]) -> array[int]:
    """For each request the number of the one before it in its lane, -1 where there is none."""
    last: dict[str, int] = {}
    before = array("q")
    append, get = before.append, last.get
    for index, request in enumerate(requests):
        lane = request.lane
        append(get(lane, -1))
        last[lane] = index
    return before


def lane_tree(lanes: Sequence[Lane]) -> list[tuple[Lane, int]]:
    """Lanes with their depth: each under the lane that started it, in the order they began.

    A log that does not tell who started a subagent or a helper leaves it under the first main lane.
    """
    ids = {lane.id for lane in lanes}
    root = next((lane.id for lane in lanes if lane.purpose == "main"), None)
    children: dict[str | None, list[Lane]] = {}
    for lane in lanes:
        parent = lane.parent if lane.parent in ids and lane.parent != lane.id else None
        if parent is None and lane.purpose != "main" and lane.id != root:
            parent = root
        children.setdefault(parent, []).append(lane)
    tree: list[tuple[Lane, int]] = []
    seen: set[str] = set()
    waiting = [(lane, 0) for lane in reversed(children.get(None, []))]
    while waiting:
        lane, depth = waiting.pop()
        if lane.id in seen:
            continue
        seen.add(lane.id)
        tree.append((lane, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(lane.id, []))]
    # Lanes that name each other as parents hang on nothing; they are shown all the same.
    tree += [(lane, 0) for lane in lanes if lane.id not in seen]
    return tree
