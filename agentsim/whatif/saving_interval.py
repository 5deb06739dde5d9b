"""A saving as an interval: how far the log leaves it open, and whether its sign is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies import Policy
from agentsim.whatif.policy_simulation import Case, SimulatedSums, add_up, simulate, under
from agentsim.whatif.unknown_facts import WORLDS, is_certain

_SLACK = 100
"""One part in so many of a bill is what none of the worlds accounts for: a cold prompt takes seconds longer, and the
backtest shows savings near nothing with the other sign."""


class SavingInterval(msgspec.Struct, frozen=True, gc=False):
    """The ends between which a saving lies, in picodollars, as far as the log leaves it open."""

    low: int
    high: int

    @property
    def sign_holds(self) -> bool:
        """Whether the saving has the same sign at both ends: without that no figure is told."""
        return self.low > 0 or self.high < 0 or self.low == self.high


class LivedCase(NamedTuple):
    """A case under policies; ``session`` is ``None`` where none of them applies."""

    case: Case
    session: Session | None
    sums: SimulatedSums


def interval_of(lived: Sequence[LivedCase], saving: int, policies: Sequence[Policy] = ()) -> SavingInterval:
    """Where the saving of all cases together under these policies lies: in the worlds that their logs allow, and where
    what a policy assumes is otherwise."""
    found = _in_worlds(lived, saving)
    slack = sum(_slack(each, policies) for each in lived)
    found += _doubted(lived, policies, policies)
    if not any(found):
        return SavingInterval(0, 0)
    return SavingInterval(min(found) - slack, max(found) + slack)


def added_interval(
    before: Sequence[LivedCase], after: Sequence[LivedCase], policies: Sequence[Policy], added: Policy
) -> SavingInterval:
    """Where what one more policy adds lies. ``before`` and ``after`` are the same cases without it and with it."""
    base = [_total(before), *_costs_in_worlds(before)]
    now = [_total(after), *_costs_in_worlds(after)]
    found = [old - new for old, new in zip(base, now, strict=True)]
    saved = sum(each.case.sums.cost for each in before) - base[0]
    found += [saving - saved for saving in _doubted(after, policies, [added])]
    if not any(found):
        return SavingInterval(0, 0)
    changed = [new for old, new in zip(before, after, strict=True) if new.session is not old.session]
    slack = sum(_slack(each, [added]) for each in changed)
    return SavingInterval(min(found) - slack, max(found) + slack)


def _total(lived: Sequence[LivedCase]) -> int:
    return sum(each.sums.cost for each in lived)


def _in_worlds(lived: Sequence[LivedCase], saving: int) -> list[int]:
    """The saving in the world of the rules and in the others."""
    cost = _total(lived)
    return [saving, *(saving + cost - other for other in _costs_in_worlds(lived))]


def _slack(each: LivedCase, policies: Sequence[Policy]) -> int:
    """What neither the worlds nor the doubts account for."""
    if each.session is None:
        return 0
    bill = each.case.sums.cost
    own = each.case.calibration.off  # by so much the recorded run, simulated, is not what the log says
    own += sum(bill * policy.unaccounted(each.case.session) // 1000 for policy in policies)
    return own if is_certain(each.session) else own + bill // _SLACK


def _costs_in_worlds(lived: Sequence[LivedCase]) -> list[int]:
    """What all cases cost in each of the worlds."""
    found = [0] * len(WORLDS)
    for case, session, sums in lived:
        same = session is None or is_certain(session) or not _changes_time(case.session, session)
        for number, world in enumerate(WORLDS):
            # Where no time changes, what the log shows of each request holds as it did.
            found[number] += sums.cost if same or session is None else add_up(simulate(case, session, world)).cost
    return found


def _doubted(lived: Sequence[LivedCase], policies: Sequence[Policy], doubtful: Sequence[Policy]) -> list[int]:
    """The savings where what these policies assume is otherwise."""
    return [
        sum(_saving(each.case, [doubted if one == policy else one for one in policies]) for each in lived)
        for policy in doubtful
        for doubted in policy.doubted()
    ]


def _saving(case: Case, policies: Sequence[Policy]) -> int:
    session, applied = under(case, policies)
    return case.sums.cost - add_up(simulate(case, session)).cost if applied else 0


def _changes_time(before: Session, after: Session) -> bool:
    """Whether requests are sent at other times, or ask for other lifetimes, or are others."""
    if len(before.requests) != len(after.requests):
        return True
    return any(
        old.id != new.id or old.start != new.start or _lifetimes(old) != _lifetimes(new)
        for old, new in zip(before.requests, after.requests, strict=True)
        if old is not new
    )


def _lifetimes(request: Request) -> set[int]:
    return set() if request.prompt is None else {marker.ttl for marker in request.prompt.breakpoints}
