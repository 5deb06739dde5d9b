"""What would have been cheaper: sessions under policies, each alone and the best of them together.

A saving is the cost of a session simulated as it was recorded minus its cost simulated under a policy. The simulation
as recorded is first held against what the log reported; where it explains too little, no money is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from agentsim.core.counts import plural
from agentsim.core.session import Session
from agentsim.whatif.comparison_result import (
    Combination,
    CombinationStep,
    Comparison,
    NotTried,
    Outcome,
)
from agentsim.whatif.policies import Policy, every_policy, parse
from agentsim.whatif.policy_simulation import (
    CannotSimulate,
    Case,
    SimulatedSums,
    add_up,
    in_order,
    prepare,
    simulate,
    under,
)
from agentsim.whatif.reproduction import LEAST_EXPLAINED, Calibration
from agentsim.whatif.saving_interval import LivedCase, interval_of

Given = Session | str | os.PathLike[str]
"""A session, or the path of a log."""

_FEW = 12
"""Policies left over that are all tried once more when no other adds to a combination."""


def compare(
    sessions: Given | Iterable[Given],
    policies: Sequence[Policy | str] | None = None,
    *,
    combine: bool = False,
    same_input: bool = False,
    also: Sequence[Policy] = (),
    progress: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Try policies on sessions: each of them alone, and with ``combine`` the best compatible ones together.

    ``sessions`` may be given as files and folders. ``policies`` (or their names, as ``agentsim compare --policy`` takes
    them) default to one of each kind. ``also`` are tried beside them, and combined only where each request shows the
    model the same: that holds for the default ones too. ``same_input`` leaves out those under which the model would be
    shown something else. ``progress`` is told how many steps of how many are done. Sessions that cannot be simulated,
    or not well enough while others can, are left out and named.

    Raises CannotSimulate (a ValueError) when that is all of them, PolicyError (a ValueError) for an unknown policy, and
    OSError for a path that holds no session.
    """
    if policies is None:
        policies, also = (), (*every_policy(), *also)
    named = tuple(parse(policy) if isinstance(policy, str) else policy for policy in policies)
    wanted = [policy for policy in (*named, *also) if not same_input or policy.changes is None]
    given = list(_read(sessions))
    steps = _Steps(len(given) + len(wanted) * (2 if combine else 1), progress)
    cases, left_out = _cases(given, steps)
    calibration = sum((case.calibration for case in cases), Calibration())
    withheld = None if calibration.holds else _why_withheld(calibration)
    recorded = sum((case.sums for case in cases), SimulatedSums())
    trial = _Trial(cases, recorded, withheld is None)
    asked = {policy.name for policy in named}
    outcomes: list[Outcome] = []
    not_tried: list[NotTried] = []
    for policy in wanted:
        result = trial.alone(policy)
        if isinstance(result, Outcome):
            outcomes.append(result)
        else:
            not_tried.append(result)
        steps.done()
    outcomes.sort(key=lambda outcome: (outcome.policy.changes is not None, trial.weight(outcome.sums)))
    combinable = [o for o in outcomes if o.policy.changes is None or o.policy.name in asked]
    harnesses = {case.session.harness for case in cases}
    return Comparison(
        sessions=len(cases),
        harness=harnesses.pop() if len(harnesses) == 1 else None,
        calibration=calibration,
        withheld=withheld,
        recorded=recorded,
        outcomes=tuple(outcomes),
        not_tried=tuple(not_tried),
        left_out=tuple(left_out),
        combined=trial.together(combinable, steps) if combine else None,
        without_price=tuple(sorted({model for case in cases for model in _without_price(case)})),
    )


def nothing_simulated(error: CannotSimulate) -> Comparison:
    """What is shown of sessions that were read and of which none can be simulated: each with its reason."""
    return Comparison(
        sessions=0,
        harness=None,
        calibration=Calibration(),
        withheld=f"no session can be simulated: {error}",
        recorded=SimulatedSums(),
        outcomes=(),
        left_out=tuple(NotTried(name=name, reason=reason) for name, reason in error.left_out),
    )


class _Steps:
    """Counts what is done, and tells it."""

    def __init__(self, total: int, progress: Callable[[int, int], object] | None) -> None:
        self._total, self._progress, self._done = total, progress, 0

    def done(self, count: int = 1) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def _without_price(case: Case) -> Iterator[str]:
    return (row.request.model or "unnamed" for row in case.rows if row.request.counted and row.cost is None)


def _read(given: Given | Iterable[Given]) -> Iterator[Session]:
    for item in [given] if isinstance(given, str | os.PathLike | Session) else given:
        if isinstance(item, Session):
            yield item
        else:
            from agentsim.traces.format_registry import read

            yield from read([os.fspath(item)])


def _cases(sessions: Iterable[Session], steps: _Steps) -> tuple[list[Case], list[NotTried]]:
    """The sessions that can be reckoned with (all that can be simulated, when none can), and those left out."""
    cases: list[Case] = []
    left: list[NotTried] = []
    for session in sessions:
        try:
            cases.append(prepare(session))
        except CannotSimulate as error:
            left.append(NotTried(name=session.id, reason=str(error)))
        steps.done()
    if not cases:
        reasons = list(dict.fromkeys(each.reason for each in left)) or ["there are no sessions"]
        raise CannotSimulate("; ".join(reasons), [(each.name, each.reason) for each in left])
    good = [case for case in cases if case.calibration.holds]
    if not good:
        return cases, left
    left += [
        NotTried(name=case.session.id, reason=_why_withheld(case.calibration))
        for case in cases
        if not case.calibration.holds
    ]
    return good, left


def _why_withheld(calibration: Calibration) -> str:
    if not calibration.rows:
        return "no request reports counters that the simulation could be held against"
    if calibration.explained * LEAST_EXPLAINED[1] >= calibration.tokens * LEAST_EXPLAINED[0]:
        share = calibration.off * 1000 // max(calibration.logged, 1)
        return f"the recorded run, simulated, differs from the log by {share // 10}.{share % 10} % of the bill"
    share = calibration.explained * 1000 // max(calibration.tokens, 1)
    return f"the rules foretell {share // 10}.{share % 10} % of the reported tokens, less than 90 %"


def _sum(lived: Iterable[LivedCase]) -> SimulatedSums:
    return sum((each.sums for each in lived), SimulatedSums())


class _Trial:
    """Tries policies on the same cases."""

    def __init__(self, cases: Sequence[Case], recorded: SimulatedSums, priced: bool) -> None:
        self._cases = cases
        self._recorded = recorded
        self._priced = priced

    def weight(self, sums: SimulatedSums) -> int:
        """What is to be made small: the cost where every request has a price, else input at the usual ratios."""
        return sums.cost if not self._recorded.unpriced else sums.weight

    def alone(self, policy: Policy) -> Outcome | NotTried:
        """All sessions under one policy, or why it was not tried."""
        policy = policy.fitted([case.session for case in self._cases])
        reasons = [policy.applies(case.session) for case in self._cases]
        if all(reason is not None for reason in reasons):
            return NotTried(name=policy.spec, reason=reasons[0] or "")
        if len(self._cases) == 1:
            policy = policy.resolved(self._cases[0].session)
        lived = self._lived([policy])
        sums = _sum(lived)
        if sums.refused > self._recorded.refused:
            refused = sums.refused - self._recorded.refused
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

    def run(self, policies: Sequence[Policy]) -> SimulatedSums:
        """The sums over all sessions under these policies."""
        return _sum(self._lived(policies))

    def _lived(self, policies: Sequence[Policy]) -> list[LivedCase]:
        """Each session as it goes under these policies, in the world of the rules."""
        found = []
        for case in self._cases:
            session, applied = under(case, policies)
            if applied:
                found.append(LivedCase(case, session, add_up(simulate(case, session))))
            else:
                found.append(LivedCase(case, None, case.sums))
        return found

    def savings(self, sums: SimulatedSums) -> tuple[int | None, int | None]:
        """What sums save in picodollars and micro-tokens; ``None`` where that is withheld or nothing has a price."""
        if not self._priced or (self._recorded.unpriced and not self._recorded.cost):
            return None, None
        return self._recorded.cost - sums.cost, self._recorded.equivalents - sums.equivalents

    def together(self, outcomes: Sequence[Outcome], steps_done: _Steps) -> Combination:
        """The best compatible policies: the one that adds most is taken until none adds anything.

        What a policy adds is always simulated on top of those taken before. A policy that added little before is asked
        again only when those that promised more were.
        """
        base = self.weight(self._recorded)
        promised = [(base - self.weight(outcome.sums), outcome) for outcome in outcomes]
        chosen: list[Outcome] = []
        steps: list[CombinationStep] = []
        now = self._recorded
        while promised:
            promised = [entry for entry in promised if _compatible(entry[1], chosen)]
            promised.sort(key=lambda entry: -entry[0])
            best: tuple[int, Outcome, SimulatedSums] | None = None
            for index, (promise, outcome) in enumerate(promised):
                if (promise <= 0 and len(promised) > _FEW) or (best is not None and promise <= best[0]):
                    break
                sums = self.run([*(taken.policy for taken in chosen), outcome.policy])
                added = self.weight(now) - self.weight(sums)
                promised[index] = (added, outcome)
                if sums.refused <= self._recorded.refused and added > 0 and (best is None or added > best[0]):
                    best = (added, outcome, sums)
            if best is None:
                break
            _, outcome, sums = best
            steps_done.done()
            chosen.append(outcome)
            now = sums
            promised = [entry for entry in promised if entry[1] is not outcome]
        chosen, now = self._looked_back(chosen, now, outcomes)
        before = self._recorded
        for number, outcome in enumerate(chosen, 1):
            sums = now if number == len(chosen) else self.run([taken.policy for taken in chosen[:number]])
            steps.append(self._step(outcome, before, sums))
            before = sums
        saving, equivalents = self.savings(now)
        return Combination(steps=tuple(steps), sums=now, saving=saving, saving_equivalents=equivalents)

    def _looked_back(
        self, chosen: list[Outcome], now: SimulatedSums, outcomes: Sequence[Outcome]
    ) -> tuple[list[Outcome], SimulatedSums]:
        """The choice once no single step makes it cheaper: leaving one out, or another one in place of it."""
        improved = True
        while improved and chosen:
            improved = False
            for taken in tuple(chosen):
                rest = [outcome for outcome in chosen if outcome is not taken]
                others = [o for o in outcomes if o is not taken and o not in chosen and _compatible(o, rest)]
                rivals = [
                    o
                    for o in others
                    if not _compatible(o, chosen) and self.weight(o.sums) < self.weight(self._recorded)
                ]
                for trial in ([], *([o] for o in rivals[:_FEW])):
                    sums = self.run([outcome.policy for outcome in (*rest, *trial)])
                    if sums.refused <= self._recorded.refused and self.weight(sums) < self.weight(now):
                        chosen, now, improved = [*rest, *trial], sums, True
                        break
                if improved:
                    break
        return chosen, now

    def _step(self, outcome: Outcome, before: SimulatedSums, after: SimulatedSums) -> CombinationStep:
        saved, equal = self.savings(before)
        together, together_equal = self.savings(after)
        return CombinationStep(
            policy=outcome.policy,
            alone=outcome.saving,
            added=None if together is None or saved is None else together - saved,
            together=together,
            alone_equivalents=outcome.saving_equivalents,
            added_equivalents=None if together_equal is None or equal is None else together_equal - equal,
            together_equivalents=together_equal,
        )


def _compatible(outcome: Outcome, chosen: Sequence[Outcome]) -> bool:
    slots = {slot for taken in chosen for slot in taken.policy.slots}
    names = {taken.policy.name for taken in chosen}
    return outcome.policy.name not in names and not slots & set(outcome.policy.slots)


__all__ = [
    "Calibration",
    "CannotSimulate",
    "Combination",
    "CombinationStep",
    "Comparison",
    "NotTried",
    "Outcome",
    "SimulatedSums",
    "compare",
    "in_order",
    "nothing_simulated",
]
