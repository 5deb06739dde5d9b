"""A saving as an interval: how far the log leaves it open, and whether its sign is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies import Policy
from agentsim.whatif.policy_simulation import Case, SimulatedSums, add_up, simulate, under
from agentsim.whatif.unknown_facts import WORLDS, is_certain

_SLACK = 400
"""One part in so many of a bill is what none of the worlds accounts for: a cold prompt takes seconds longer."""


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
    found = [saving] * (len(WORLDS) + 1)
    slack = 0
    for number, policy in enumerate(policies):
        for doubted in policy.doubted():
            others = [*policies[:number], doubted, *policies[number + 1 :]]
            found.append(sum(_saving(each.case, others) for each in lived))
    for case, session, sums in lived:
        if session is None or is_certain(session):
            continue
        slack += case.sums.cost // _SLACK
        if not _changes_time(case.session, session):
            continue  # what the log shows of each request holds as it did
        for number, world in enumerate(WORLDS):
            found[number] += sums.cost - add_up(simulate(case, session, world)).cost
    if not any(found):
        return SavingInterval(0, 0)
    return SavingInterval(min(found) - slack, max(found) + slack)


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
