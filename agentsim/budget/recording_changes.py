"""Two recordings of the same work, request by request: what the bill did, and which block broke the prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import Lane, Row, Session
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose.diagnosis import Diagnosis
from agentsim.diagnose.prompt_diff import first_difference
from agentsim.traces.readers.agentsim1 import is_keyed


class Side(msgspec.Struct, frozen=True):
    """A request in one of the recordings: its row, its verdict, its number from 1."""

    number: int
    row: Row
    verdict: Verdict


class RequestPair(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that stand at the same place of the same lane. One side is ``None`` where a recording has no more.

    ``place`` is where the new prompt no longer repeats the old one, told where it differs from the place told for the
    pair before; ``settings`` are the names of settings that differ,
    likewise.
    """

    lane: str
    old: Side | None
    new: Side | None
    place: Divergence | None = None
    settings: tuple[str, ...] = ()

    @property
    def cost(self) -> int | None:
        """What the new request costs more than the old one, in picodollars; ``None`` where a price is not known."""
        before, after = _cost(self.old), _cost(self.new)
        return None if before is None or after is None else after - before


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs in the order of the new recording. ``comparable`` is False where both recordings have prompts but their
    digests were made with different keys."""

    old: Diagnosis
    new: Diagnosis
    pairs: tuple[RequestPair, ...]
    comparable: bool = True


def compare(old: Diagnosis, new: Diagnosis) -> Changes:
    """Align two judged sessions, lane by lane and request by request, in their order.

    Lanes correspond by their purpose and by the order in which they begin: ids differ from recording to recording.
    """
    comparable = _comparable(old.session, new.session)
    before, after = _by_lane(old), _by_lane(new)
    pairs: list[RequestPair] = []
    for name in dict.fromkeys([*after, *before]):
        pairs += _pairs(name, before.get(name, []), after.get(name, []), comparable)
    pairs.sort(key=_order)
    return Changes(old=old, new=new, pairs=tuple(pairs), comparable=comparable)


def _pairs(name: str, old: Sequence[Side], new: Sequence[Side], comparable: bool) -> Iterator[RequestPair]:
    told: tuple[object, ...] | None = None
    told_settings: tuple[str, ...] = ()
    for position in range(max(len(old), len(new))):
        left = old[position] if position < len(old) else None
        right = new[position] if position < len(new) else None
        place = _place(left, right) if comparable else None
        same = None if place is None else (place.section, place.block, place.change, place.name)
        settings = _settings(left, right)
        yield RequestPair(
            lane=name,
            old=left,
            new=right,
            place=place if same != told else None,
            settings=settings if settings != told_settings else (),
        )
        if left is not None and right is not None:
            told, told_settings = same, settings


def _place(old: Side | None, new: Side | None) -> Divergence | None:
    if old is None or new is None or old.row.request.prompt is None or new.row.request.prompt is None:
        return None
    return first_difference(old.row.request.prompt, new.row.request.prompt)


def _settings(old: Side | None, new: Side | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    before = {**dict(old.row.request.settings), "model": old.row.request.model}
    after = {**dict(new.row.request.settings), "model": new.row.request.model}
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


def _by_lane(diagnosis: Diagnosis) -> dict[str, list[Side]]:
    names = _names(diagnosis.session.lanes)
    found: dict[str, list[Side]] = {}
    for number, (row, verdict) in enumerate(zip(diagnosis.rows, diagnosis.verdicts, strict=True), 1):
        if row.request.counted:
            name = names.get(row.request.lane, row.request.lane)
            found.setdefault(name, []).append(Side(number, row, verdict))
    return found


def _names(lanes: Sequence[Lane]) -> dict[str, str]:
    """Names that the lanes of both recordings have in common: the purpose, numbered from the second one on."""
    seen: dict[str, int] = {}
    names: dict[str, str] = {}
    for lane in lanes:
        seen[lane.purpose] = count = seen.get(lane.purpose, 0) + 1
        names[lane.id] = lane.purpose if count == 1 else f"{lane.purpose} {count}"
    return names


def _order(pair: RequestPair) -> tuple[int, int]:
    """The order of the new recording; what only the old one has comes where it stood."""
    if pair.new is not None:
        return pair.new.number, 0
    assert pair.old is not None
    return pair.old.number, 1


def _comparable(old: Session, new: Session) -> bool:
    """Whether equal digests mean equal content: fingerprints under two keys have nothing in common."""
    if not (is_keyed(old) or is_keyed(new)):
        return True
    mine = {block.digest for request in old.requests[:1] for block in request.prompt or ()}
    others = {block.digest for request in new.requests[:1] for block in request.prompt or ()}
    return not mine or not others or bool(mine & others)


def _cost(side: Side | None) -> int | None:
    return 0 if side is None else side.row.cost
