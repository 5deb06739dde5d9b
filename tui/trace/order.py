"""Which rows of a session are shown, and in which order. Works on row numbers only: an array, whatever the session."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from agentsim.diagnose import Diagnosis
from agentsim.report.words import KINDS, cause_title
from agentsim.session import Lane, Request, Row
from agentsim.verdict import Verdict

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


def matcher(diagnosis: Diagnosis, wanted: str) -> Callable[[int], bool]:
    """Whether a row's id, lane, model, cause, class or the provider's reason holds the text. Case does not matter.

    What many rows share is looked at once, so that a million rows take a fraction of a second.
    """
    needle = wanted.casefold()
    requests, verdicts = diagnosis.session.requests, diagnosis.verdicts
    titles = {lane.id: lane.title for lane in diagnosis.session.lanes}
    known: dict[str, bool] = {}

    def shared(text: str, more: str = "") -> bool:
        found = known.get(text)
        if found is None:
            found = known[text] = needle in text.casefold() or needle in more.casefold()
        return found

    def matches(index: int) -> bool:
        request, verdict = requests[index], verdicts[index]
        cause, reason = verdict.cause, request.diagnosis.reason
        return (
            shared(verdict.kind, _kind_word(verdict.kind))
            or (cause is not None and shared(cause, cause_title(cause)))
            or shared(request.model)
            or shared(request.lane, titles.get(request.lane, ""))
            or (reason is not None and shared(reason))
            or needle in request.id.casefold()
            or needle == str(index + 1)
        )

    return matches


def _kind_word(kind: str) -> str:
    word = next((word for known, word in KINDS.items() if known == kind), "")
    return word if isinstance(word, str) else word[0]


def arrange(
    diagnosis: Diagnosis,
    *,
    only_misses: bool = False,
    wanted: str = "",
    sort: str = UNSORTED,
    descending: bool = False,
    gaps: Callable[[int], int | None] | None = None,
) -> array[int]:
    """The rows to show, in order: filtered, then sorted. What is unknown comes last either way."""
    count = len(diagnosis.rows)
    chosen: Iterable[int] = misses(diagnosis.verdicts) if only_misses else range(count)
    if wanted:
        chosen = filter(matcher(diagnosis, wanted), chosen)
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
