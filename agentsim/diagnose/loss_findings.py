"""Equal losses as one finding: the same cause at the same place by the same change, or down to the same floor, with the
rhythm in which they come and what stands in front of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from agentsim.core.prompt import Prompt
from agentsim.core.session import Row
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.changed_things import ClearedThing, changed_tools, cleared_thing
from agentsim.diagnose.diagnosis import Diagnosis
from agentsim.diagnose.loss_leads import EXPECTED, LEAST_LOSSES, Lead, find_lead, marked_rows

SECOND, MINUTE = 10**9, 60 * 10**9

SAME_FLOOR = 200
"""Reads that differ by less than one part in so many end at the same place."""

SAME_TIME = 10
"""Times between losses that differ by less than one part in so many are a rhythm."""

_BLIND = frozenset(one.code for one in CAUSES.values() if one.placeless)
"""Causes that name no place: how far the read reached is what they have in common."""

_PLURALS = {
    "image": "images",
    "document": "documents",
    "thinking": "blocks of thinking",
    "tool result": "tool results",
    "message": "messages",
}


class LossKind(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What makes losses equal, wherever they come: the cause (empty where one thing has two, as tools that come and
    go), what changed where, and for those without a place how many tokens were still read."""

    cause: str
    thing: str = ""
    floor: int | None = None


class RepeatedLoss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Losses that are one: ``rows`` are their numbers in the session, counted from 1. ``what`` says what they have in
    common beyond the cause, ``rhythm`` when they come. ``cost`` is in picodollars, of those that have a price."""

    cause: str
    what: str
    rhythm: str
    rows: tuple[int, ...]
    tokens: int
    cost: int | None
    lead: Lead | None = None


class RepeatedLosses(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The losses of a session that come more than once, the dearest first, and what those without a place have in
    common, where that is not said of one of the others."""

    repeated: tuple[RepeatedLoss, ...] = ()
    lead: Lead | None = None


class _Loss(msgspec.Struct, frozen=True, gc=False):
    number: int
    row: Row
    verdict: Verdict
    old: Prompt | None
    cleared: ClearedThing | None


def findings_of(diagnosis: Diagnosis) -> RepeatedLosses:
    """What the losses of a session come down to. A loss that stands alone is in none of the findings."""
    losses = _losses(diagnosis)
    if len(losses) < 2:
        return RepeatedLosses()
    marks = marked_rows(diagnosis.session, diagnosis.verdicts)
    order = _places_in_lanes(diagnosis)
    found = []
    groups = [group for group in _groups(losses) if len(group) > 1]
    questions = sum(len(group) >= LEAST_LOSSES and leaves_open(group[0].verdict.code) for group in groups) + 1
    for group in groups:
        costs = [loss.verdict.lost_cost for loss in group if loss.verdict.lost_cost is not None]
        found.append(
            RepeatedLoss(
                cause=group[0].verdict.code,
                what=_what(group),
                rhythm=_rhythm(group, order),
                rows=tuple(loss.number for loss in group),
                tokens=sum(loss.verdict.lost for loss in group),
                cost=sum(costs) if costs else None,
                lead=find_lead(marks, _ids(group), questions) if leaves_open(group[0].verdict.code) else None,
            )
        )
    found.sort(key=lambda one: (-(one.cost or 0), -one.tokens, one.rows))
    unclear = [loss for loss in losses if loss.verdict.code in _BLIND]
    together = find_lead(marks, _ids(unclear), questions)
    said = together is not None and any(
        one.lead is not None and one.lead.what == together.what and 2 * len(one.rows) > len(unclear) for one in found
    )
    return RepeatedLosses(repeated=tuple(found), lead=None if said else together)


def _ids(losses: Sequence[_Loss]) -> set[str]:
    return {loss.row.request.id for loss in losses}


def _losses(diagnosis: Diagnosis) -> list[_Loss]:
    prompts = {row.request.id: row.request.prompt for row in diagnosis.rows}
    found = []
    for number, (row, verdict) in enumerate(zip(diagnosis.rows, diagnosis.verdicts, strict=True), 1):
        if verdict.kind != "miss" or not row.request.counted:
            continue
        old, new = prompts.get(verdict.compared_with or ""), row.request.prompt
        known = verdict.place is not None and old is not None and new is not None
        cleared = cleared_thing(verdict.place, old, new) if known else None  # type: ignore[arg-type]
        found.append(_Loss(number, row, verdict, old, cleared))
    return found


def _groups(losses: Sequence[_Loss]) -> list[list[_Loss]]:
    return [[losses[index] for index in group] for group in alike([_kind(loss) for loss in losses])]


def alike(kinds: Sequence[LossKind]) -> list[list[int]]:
    """The places of losses of one kind, in the order in which they come first. Reads that end nearly at the same place
    end at the same one."""
    groups: dict[LossKind, list[int]] = {}
    floors: dict[LossKind, list[int]] = {}
    for index, kind in enumerate(kinds):
        key = kind
        if kind.floor is not None:
            known = floors.setdefault(msgspec.structs.replace(kind, floor=None), [])
            floor = next((one for one in known if abs(one - (kind.floor or 0)) * SAME_FLOOR <= one), None)
            if floor is None:
                floor = kind.floor
                known.append(floor)
            key = msgspec.structs.replace(kind, floor=floor)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def kinds_of(diagnosis: Diagnosis) -> dict[str, tuple[LossKind, str]]:
    """The kind of each loss by its request, and what is told of it beyond the cause."""
    return {loss.row.request.id: (_kind(loss), _what([loss])) for loss in _losses(diagnosis)}


def kind_by_row(verdict: Verdict, read: int) -> LossKind:
    """The kind of a loss of which no body is known."""
    place, code = verdict.place, verdict.code
    if place is None:
        return LossKind(code, floor=read if code in _BLIND else None)
    address = place.name or (place.address if place.section != "messages" else None)
    return LossKind(code, " ".join(part for part in (place.section, place.change, address) if part))


def words_of_floor(cause: str, reads: Sequence[int]) -> str:
    """What losses without a place have in common: how far their reads reached."""
    if cause not in _BLIND:
        return ""
    if not any(reads):
        return "each time nothing was read"
    same = f"{reads[0]:,}" if len({*reads}) == 1 else f"about {round(_median(reads)):,}"
    return f"each time {same} tokens were read"


def leaves_open(cause: str) -> bool:
    """Whether a cause leaves the question when it happens: a lifetime, a setting or a breakpoint answers it itself."""
    return cause[:3] in ("AS1", "AS9")


def is_placeless(cause: str) -> bool:
    """Whether a cause names no place."""
    return cause in _BLIND


def _kind(loss: _Loss) -> LossKind:
    verdict, place = loss.verdict, loss.verdict.place
    new = loss.row.request.prompt
    if place is not None and place.section == "tools" and loss.old is not None and new is not None:
        tools = changed_tools(loss.old, new)
        if bool(tools.came) != bool(tools.went):
            return LossKind("", f"tools {tools.server or ', '.join(sorted(tools.names))}")
    if place is not None and loss.cleared is not None:
        return LossKind(verdict.code, f"{place.change} {loss.cleared.thing}")
    return kind_by_row(verdict, loss.row.usage.read or 0)


def _what(group: Sequence[_Loss]) -> str:
    """What equal losses have in common beyond their cause; empty where there is nothing to add."""
    first = group[0]
    if first.cleared is not None:
        left = {loss.cleared.left for loss in group if loss.cleared is not None}
        things = _PLURALS[first.cleared.thing]
        if len(left) == 1 and (count := left.pop()):
            return f"a sliding window of {count} {things if count > 1 else first.cleared.thing}"
        return f"{things} of earlier turns"
    place, new = first.verdict.place, first.row.request.prompt
    if place is None:
        return words_of_floor(first.verdict.code, [loss.row.usage.read or 0 for loss in group])
    if place.section == "tools" and first.old is not None and new is not None:
        tools = changed_tools(first.old, new)
        if bool(tools.came) != bool(tools.went):
            kinds = {loss.verdict.cause for loss in group}
            who = f"the MCP server {tools.server} ({len(tools.names)} tools)" if tools.server else None
            who = who or (tools.names[0] if len(tools.names) == 1 else f"{len(tools.names)} tools")
            return f"{who} {'comes and goes' if len(kinds) > 1 else 'comes' if tools.came else 'goes'}"
    places = {loss.verdict.place.address for loss in group if loss.verdict.place is not None}
    return f"each time in {place.address}" if len(places) == 1 else ""


def _places_in_lanes(diagnosis: Diagnosis) -> dict[str, tuple[str, int]]:
    """For each request of which a read was expected: its lane, and its number among those of the lane."""
    counts: dict[str, int] = {}
    places = {}
    for row, verdict in zip(diagnosis.rows, diagnosis.verdicts, strict=True):
        lane = row.request.lane
        if verdict.kind in EXPECTED and row.request.counted:
            counts[lane] = counts.get(lane, -1) + 1
            places[row.request.id] = (lane, counts[lane])
    return places


def _median(values: Sequence[int]) -> float:
    from statistics import median  # here, as it is asked for only where losses repeat

    return median(values)


def _rhythm(group: Sequence[_Loss], order: dict[str, tuple[str, int]]) -> str:
    first, last = group[0].number, group[-1].number
    if len(group) == 2:
        return f"#{first} and #{last}"
    places = [order[loss.row.request.id] for loss in group if loss.row.request.id in order]
    lanes = {lane for lane, _ in places}
    if len(lanes) > 1:
        return f"in {len(lanes)} lanes, from #{first} to #{last}"
    steps = {later - earlier for (_, earlier), (_, later) in pairwise(places)}
    if steps == {1}:
        return f"on each request from #{first} to #{last}"
    if len(steps) == 1:
        return f"on every {_ordinal(steps.pop())} request from #{first} to #{last}"
    starts = [loss.row.start for loss in group if loss.row.start is not None]
    if len(starts) == len(group):
        gaps = [later - earlier for earlier, later in pairwise(starts)]
        usual = _median(gaps)
        if usual >= MINUTE and all(abs(gap - usual) * SAME_TIME <= usual for gap in gaps):
            return f"every {round(usual / MINUTE):,} min from #{first} to #{last}"
    return f"between #{first} and #{last}"


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
