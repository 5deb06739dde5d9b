"""Whether switching the model paid: each stretch with another model beside what staying would have cost.

From counters alone: the requests of the stretch, priced at the rates of the model before it, and what the switches
there and back lost of the cache read instead. That the other model would have needed as many requests and tokens is
the condition, and the only one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agentsim.core.session import Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.rules.prices import RateCard, cost, default_book
from agentsim.whatif.policies.break_even import hit_rate_to_pay


class ModelSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a lane after a switch. ``first`` and ``last`` are row numbers, amounts picodollars.

    ``paid`` is what the stretch cost, and what the way back lost; ``staying`` the same work with the model before, read
    where the switches lost it. ``lost_tokens`` are those of the switch and, where the lane went back, of the way back.
    """

    session: str
    lane: str
    before: str
    after: str
    first: int
    last: int
    requests: int
    back: bool
    lost_tokens: int
    paid: int
    staying: int

    @property
    def saved(self) -> int:
        """What the switch saved; below zero it cost."""
        return self.staying - self.paid


class HitRateNeeded(msgspec.Struct, frozen=True, kw_only=True):
    """The share of input that must be read before caching is cheaper than sending all of it fresh, in thousandths."""

    model: str
    lifetime: str
    per_mille: int
    read_per_mille: int


def model_switches(session: Session, verdicts: Sequence[Verdict]) -> tuple[ModelSwitch, ...]:
    """The stretches of a session, in the order of their rows; those without known prices are left out."""
    numbered = list(zip(range(1, len(session.requests) + 1), session.requests, verdicts, strict=True))
    lanes: dict[str, list[tuple[int, Request, Verdict]]] = {}
    for row in numbered:
        if row[1].counted and row[1].usage is not None and row[1].usage.total_input is not None:
            lanes.setdefault(row[1].lane, []).append(row)
    found = [switch for lane in lanes.values() for switch in _of_lane(session.id, lane)]
    return tuple(sorted(found, key=lambda switch: switch.first))


def _of_lane(session: str, lane: Sequence[tuple[int, Request, Verdict]]) -> Iterator[ModelSwitch]:
    starts = [0] + [n for n in range(1, len(lane)) if lane[n][1].model != lane[n - 1][1].model]
    for place, start in enumerate(starts[1:], 1):
        end = starts[place + 1] if place + 1 < len(starts) else len(lane)
        before, stretch = lane[start - 1][1], lane[start:end]
        back = end < len(lane) and lane[end][1].model == before.model
        paid, staying, lost = 0, 0, 0
        known = True
        for number, (_, request, verdict) in enumerate(stretch):
            assert request.usage is not None
            own, other = _card(request, request), _card(request, before)
            mine = 0 if number or verdict.kind != "miss" else verdict.lost
            lost += mine
            actual = None if own is None else cost(own, request.usage)
            instead = None if other is None else cost(other, _read_instead(request.usage, mine))
            if actual is None or instead is None:
                known = False
                break
            paid += actual
            staying += instead
        if back and known:
            _, request, verdict = lane[end]
            assert request.usage is not None
            card = _card(request, request)
            if card is not None and verdict.kind == "miss":
                actual, instead = cost(card, request.usage), cost(card, _read_instead(request.usage, verdict.lost))
                if actual is not None and instead is not None:
                    paid += actual - instead
                    lost += verdict.lost
        if known:
            yield ModelSwitch(
                session=session,
                lane=stretch[0][1].lane,
                before=before.model,
                after=stretch[0][1].model,
                first=stretch[0][0],
                last=stretch[-1][0],
                requests=len(stretch),
                back=back,
                lost_tokens=lost,
                paid=paid,
                staying=staying,
            )


def switches_of(sessions: Iterable[Session]) -> tuple[ModelSwitch, ...]:
    """The stretches of all sessions that have any, the dearest to have done first."""
    found: list[ModelSwitch] = []
    for session in sessions:
        models: dict[str, str] = {}
        if any(models.setdefault(request.lane, request.model) != request.model for request in session.requests):
            found += model_switches(session, diagnose(session).verdicts)
    return tuple(sorted(found, key=lambda switch: (switch.saved, switch.session, switch.first)))


def rates_needed(sessions: Iterable[Session]) -> tuple[HitRateNeeded, ...]:
    """The hit rates from which caching pays, over all requests of these sessions."""
    return _rates(request for session in sessions for request in session.requests)


def _rates(requests: Iterable[Request]) -> tuple[HitRateNeeded, ...]:
    """For each model that wrote to a cache: written for the longer lifetime where more was written so."""
    sums: dict[str, list[int]] = {}
    cards: dict[str, RateCard] = {}
    for request in requests:
        usage = request.usage
        if not request.counted or usage is None or usage.total_input is None:
            continue
        card = default_book().card_for(request)
        if card is None:
            continue
        cards.setdefault(request.model, card)
        found = sums.setdefault(request.model, [0, 0, 0, 0])
        for index, tokens in enumerate((usage.read, usage.total_input, usage.write_short, usage.write_long)):
            found[index] += tokens or 0
    needed: list[HitRateNeeded] = []
    for model, (read, total, short, long) in sums.items():
        hour = long > short
        rate = hit_rate_to_pay(cards[model], hour=hour) if short or long else None
        if rate is not None and total:
            needed.append(
                HitRateNeeded(
                    model=model,
                    lifetime="long" if hour else "short",
                    per_mille=-(-rate.numerator * 1000 // rate.denominator),
                    read_per_mille=read * 1000 // total,
                )
            )
    return tuple(needed)


def _card(request: Request, like: Request) -> RateCard | None:
    return default_book().card_for(
        msgspec.structs.replace(request, model=like.model, provider=like.provider), request.usage
    )


def _read_instead(usage: Usage, tokens: int) -> Usage:
    """The usage with so many tokens read that were written or sent fresh."""
    left = tokens
    values: dict[str, int | None] = {}
    for name in ("write_short", "write_long", "write_other", "fresh"):
        there = getattr(usage, name)
        taken = min(left, there or 0)
        values[name] = None if there is None else there - taken
        left -= taken
    return msgspec.structs.replace(usage, read=(usage.read or 0) + tokens - left, **values)
