"""Sessions under policies: each set of policies is simulated once, and only where it changes a session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from agentsim.core.counts import plural
from agentsim.core.session import Session
from agentsim.whatif.comparison_result import NotTried, Outcome
from agentsim.whatif.policies import Policy
from agentsim.whatif.policy_simulation import Case, SimulatedSums, add_up, in_order, simulate
from agentsim.whatif.saving_interval import LivedCase, interval_of

_REMEMBERED = 256
"""Rewritten sessions that are kept: policies that come later in the order are tried on the same ones."""

Applied = tuple[Policy, ...]


class PolicyTrial:
    """Tries policies on the same cases. Mutable: it remembers what it simulated."""

    def __init__(self, cases: Sequence[Case], recorded: SimulatedSums, priced: bool) -> None:
        self.cases = cases
        self.recorded = recorded
        self._priced = priced
        self._sums: dict[tuple[int, Applied], SimulatedSums] = {}
        self._rewritten: OrderedDict[tuple[int, Applied, Policy], Session | None] = OrderedDict()

    def weight(self, sums: SimulatedSums) -> int:
        """What is to be made small: the cost where every request has a price, else input at the usual ratios."""
        return sums.cost if not self.recorded.unpriced else sums.weight

    def alone(self, policy: Policy) -> Outcome | NotTried:
        """All sessions under one policy, or why it was not tried."""
        policy = policy.fitted([case.session for case in self.cases])
        reasons = [policy.applies(case.session) for case in self.cases]
        if all(reason is not None for reason in reasons):
            return NotTried(name=policy.spec, reason=reasons[0] or "")
        if len(self.cases) == 1:
            policy = policy.resolved(self.cases[0].session)
        lived = self.lived([policy])
        sums = total(lived)
        if sums.refused > self.recorded.refused:
            refused = sums.refused - self.recorded.refused
            return NotTried(name=policy.spec, reason=f"the provider would refuse {plural(refused, 'request')}")
        saving, equivalents = self.savings(sums)
        return Outcome(
            policy=policy,
            sums=sums,
            changed=sum(each.session is not None for each in lived),
            saving=saving,
            saving_equivalents=equivalents,
            interval=None if saving is None else interval_of(lived, saving, [policy]),
        )

    def idle(self, policy: Policy) -> Outcome:
        """A policy that changes nothing alone: what it does under others is not known yet."""
        saving, equivalents = self.savings(self.recorded)
        return Outcome(
            policy=policy, sums=self.recorded, changed=0, saving=saving, saving_equivalents=equivalents, interval=None
        )

    def run(self, policies: Sequence[Policy]) -> SimulatedSums:
        """The sums over all sessions under these policies."""
        return total(self.lived(policies))

    def lived(self, policies: Sequence[Policy]) -> list[LivedCase]:
        """Each session as it goes under these policies, in the world of the rules."""
        ordered = in_order(policies)
        return [self._one(index, case, ordered) for index, case in enumerate(self.cases)]

    def _one(self, index: int, case: Case, ordered: Sequence[Policy]) -> LivedCase:
        session: Session = case.session
        applied: Applied = ()
        for policy in ordered:
            found = self._under(index, session, applied, policy)
            if found is not None:
                session, applied = found, (*applied, policy)
        if not applied:
            return LivedCase(case, None, case.sums)
        sums = self._sums.get((index, applied))
        if sums is None:
            sums = self._sums[index, applied] = add_up(simulate(case, session))
        return LivedCase(case, session, sums)

    def _under(self, index: int, session: Session, applied: Applied, policy: Policy) -> Session | None:
        """A session that these policies rewrote, rewritten by one more; ``None`` where that does not apply."""
        key = (index, applied, policy)
        if key in self._rewritten:
            self._rewritten.move_to_end(key)
            return self._rewritten[key]
        found = policy.rewrite(session) if policy.applies(session) is None else None
        self._rewritten[key] = found
        if len(self._rewritten) > _REMEMBERED:
            self._rewritten.popitem(last=False)
        return found

    def savings(self, sums: SimulatedSums) -> tuple[int | None, int | None]:
        """What sums save in picodollars and micro-tokens; ``None`` where that is withheld or nothing has a price."""
        if not self._priced or (self.recorded.unpriced and not self.recorded.cost):
            return None, None
        return self.recorded.cost - sums.cost, self.recorded.equivalents - sums.equivalents


def total(lived: Iterable[LivedCase]) -> SimulatedSums:
    """The sums over all cases."""
    return sum((each.sums for each in lived), SimulatedSums())
