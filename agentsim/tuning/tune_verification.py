"""Whether a setting saved what it was to save: predicted against measured, over the sessions since it was written.

Measured in two ways that share little. Each session since is simulated under the lifetimes of before: the difference
to its bill is what the setting saved in it. And the bills alone: what a request cost before and since, between
requests of the same model, lane, size and pause, in the mix of those since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from agentsim.core.session import Request, Row, Session
from agentsim.harness.random_streams import Streams
from agentsim.tuning.kept_applications import KeptApplication
from agentsim.tuning.recorded_lifetimes import RecordedLifetimes, lifetimes_of
from agentsim.tuning.saving_shares import (
    FEWEST,
    HIGH,
    LOW,
    RESAMPLES,
    SessionSaving,
    ShareInterval,
    measured_share,
    share_of,
)
from agentsim.tuning.tune_choice import CannotTune, began, savings_under, simulated_cases
from agentsim.whatif.policies import parse
from agentsim.whatif.policies.ttl_lanes import TtlLanes
from agentsim.whatif.policy_simulation import Case
from agentsim.whatif.saving_interval import interval_of

Judgement = Literal["held", "less", "more", "costs", "open"]
"""The measured saving lies in the predicted interval; below it; above it; it is a loss; it cannot be told yet."""

_MINUTE = 60 * 10**9
_PAUSES = (5 * _MINUTE, 60 * _MINUTE)
_FEWEST_ALIKE = 5
"""Requests that a kind must have before and since, so that the two are compared."""

_SEED = 20_261_201


class TuneVerification(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction, and what came of it. Money in picodollars.

    ``cost`` is the bill of the ``sessions`` since, ``in_force`` in how many of them the setting was seen at work, and
    ``against`` in how many the log shows other lifetimes. ``measured`` is what was saved, as a share of what the
    sessions would have cost before. ``by_bills`` is the same from bills alone, over requests that make
    up ``comparable`` millionths of the bill since; ``None`` where too few are alike.
    """

    application: KeptApplication
    sessions: int
    in_force: int
    against: int
    cost: int
    saved: int
    measured: ShareInterval
    by_bills: ShareInterval | None
    comparable: int
    judgement: Judgement

    @property
    def should_undo(self) -> bool:
        """Whether it should be taken out again: it costs more, by both ways or by the first beyond doubt."""
        return self.judgement == "costs"


def verify_settings(sessions: Iterable[Session], application: KeptApplication) -> TuneVerification:
    """Hold what was predicted against the sessions since. Raises CannotTune where none can be simulated."""
    cases, left = simulated_cases(sessions, (application.harness,))
    since = [case for case in cases if began(case.session) >= application.time]
    before = [
        case
        for case in cases
        if application.first <= began(case.session) < application.time
        and lifetimes_of(case.session).agrees(application.lifetimes)
    ]
    if not since:
        late = f"; {left[0].name}: {left[0].reason}" if left else ""
        raise CannotTune(f"no session since the settings were written can be simulated{late}")
    changes_lifetimes = [spec for spec in application.policies if spec.startswith("ttl-")]
    wanted = _wanted(application)
    seen = [lifetimes_of(case.session) for case in since]
    in_force = [told.agrees(wanted) for told in seen]
    policies = [parse(application.lifetimes.policy)] if changes_lifetimes else []
    lived = savings_under(policies, since)
    savings = [SessionSaving(one.sums.cost, one.sums.cost - one.case.sums.cost) for one in lived]
    measured = measured_share(savings)
    worlds = interval_of(lived, -sum(one.saving for one in savings), policies)
    now = sum(case.sums.cost for case in since)
    # What the old settings would have saved beside the new ones, the other way round and as a share of the old bill.
    low, high = (share_of(-end, now - end) for end in (worlds.high, worlds.low))
    measured = measured.widened(measured.share - low, high - measured.share)
    by_bills, comparable = share_by_bills(before, since)
    return TuneVerification(
        application=application,
        sessions=len(since),
        in_force=sum(in_force),
        against=len(since) - sum(in_force),
        cost=now,
        saved=sum(one.saving for one in savings),
        measured=measured,
        by_bills=by_bills,
        comparable=comparable,
        judgement=_judgement(measured, application.predicted, len(since), sum(in_force)),
    )


def _judgement(measured: ShareInterval, predicted: ShareInterval, sessions: int, in_force: int) -> Judgement:
    if sessions < FEWEST or in_force * 2 < sessions:
        return "open"
    if measured.high < 0:
        return "costs"
    if measured.low <= 0:
        return "open"
    if predicted.holds(measured.share):
        return "held"
    return "less" if measured.share < predicted.low else "more"


def _wanted(application: KeptApplication) -> RecordedLifetimes:
    """What sessions ask for under the settings."""
    main, children = application.lifetimes.main, application.lifetimes.children
    for spec in application.policies:
        policy = parse(spec)
        if isinstance(policy, TtlLanes):
            main = main if policy.main == "as-is" else policy.main
            children = children if policy.children == "as-is" else policy.children
        elif policy.name == "ttl-5m":
            main = children = "5m"
        elif policy.name == "ttl-1h":
            main = children = "1h"
    return RecordedLifetimes(main, children)


def share_by_bills(before: Sequence[Case], since: Sequence[Case]) -> tuple[ShareInterval | None, int]:
    """What requests cost since, against requests of the same kind before, as a share of what they would have cost; and
    which share of the bill since (in millionths) is of kinds that both have."""
    old, new = [_kinds(case) for case in before], [_kinds(case) for case in since]
    bill = sum(case.sums.cost for case in since)
    best = _by_kind(old, new)
    if best is None or len(before) < FEWEST or len(since) < FEWEST:
        return None, 0
    draw = Streams(_SEED).stream("sessions drawn again")
    shares = []
    for _ in range(RESAMPLES // 4):
        again = _by_kind([old[draw.below(len(old))] for _ in old], [new[draw.below(len(new))] for _ in new])
        if again is not None:
            shares.append(again[0])
    if not shares:
        return None, 0
    shares.sort()
    low, high = (shares[min(len(shares) * percent // 100, len(shares) - 1)] for percent in (LOW, HIGH))
    return ShareInterval(best[0], min(low, best[0]), max(high, best[0])), share_of(best[1], bill)


Kinds = dict[tuple[object, ...], tuple[int, int]]
"""By kind of request how many there are and what they cost together."""


def _by_kind(old: Sequence[Kinds], new: Sequence[Kinds]) -> tuple[int, int] | None:
    """The share that was saved, and the bill since that it is of."""
    was, now = _added(old), _added(new)
    would = paid = 0
    for kind, (count, cost) in now.items():
        number, sum_before = was.get(kind, (0, 0))
        if number >= _FEWEST_ALIKE and count >= _FEWEST_ALIKE:
            would += sum_before * count // number
            paid += cost
    return (share_of(would - paid, would), paid) if would else None


def _added(kinds: Sequence[Kinds]) -> Kinds:
    found: Kinds = {}
    for one in kinds:
        for kind, (count, cost) in one.items():
            number, total = found.get(kind, (0, 0))
            found[kind] = (number + count, total + cost)
    return found


def _kinds(case: Case) -> Kinds:
    found: Kinds = {}
    last: dict[str, int] = {}
    for row in case.rows:
        request = row.request
        if request.counted and row.cost is not None:
            count, cost = found.get(kind := _kind(row, last), (0, 0))
            found[kind] = (count + 1, cost + row.cost)
        if request.start is not None:
            last[request.lane] = max(request.start, request.end or 0)
    return found


def _kind(row: Row, last: dict[str, int]) -> tuple[object, ...]:
    request: Request = row.request
    tokens = row.usage.total_input or 0
    return (request.model, request.purpose == "main", tokens.bit_length(), _pause(request, last))


def _pause(request: Request, last: dict[str, int]) -> int:
    """0 for the first request of a lane, else which of the lifetimes has passed since the one before."""
    before = last.get(request.lane)
    if before is None or request.start is None:
        return 0
    return 1 + sum(request.start - before >= pause for pause in _PAUSES)
