"""What would have been cheaper: sessions under policies, each alone and the best of them together.

A saving is the cost of a session simulated as it was recorded minus its cost simulated under a policy. The simulation
as recorded is first held against what the log reported; where it explains too little, no money is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from agentsim.core.session import Session
from agentsim.whatif.comparison_result import (
    Combination,
    CombinationStep,
    Comparison,
    NotTried,
    Outcome,
)
from agentsim.whatif.policies import Policy, every_policy, parse
from agentsim.whatif.policy_combination import best_together
from agentsim.whatif.policy_simulation import (
    CannotSimulate,
    Case,
    SimulatedSums,
    in_order,
    prepare,
)
from agentsim.whatif.policy_trial import PolicyTrial
from agentsim.whatif.reproduction import LEAST_EXPLAINED, Calibration

Given = Session | str | os.PathLike[str]
"""A session, or the path of a log."""


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
    trial = PolicyTrial(cases, recorded, withheld is None)
    asked = {policy.name for policy in named}
    outcomes: list[Outcome] = []
    not_tried: list[NotTried] = []
    idle: list[Outcome] = []
    for policy in wanted:
        result = trial.alone(policy)
        if isinstance(result, Outcome):
            outcomes.append(result)
        else:
            not_tried.append(result)
            idle.append(trial.idle(policy))
        steps.done()
    outcomes.sort(key=lambda outcome: (outcome.policy.changes is not None, trial.weight(outcome.sums)))
    combinable = [
        o
        for o in (*outcomes, *idle)  # what has nothing to do alone may have under another
        if o.policy.name in asked or (o.policy.changes is None and not o.is_unproven)
    ]
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
        combined=best_together(trial, combinable, steps.done) if combine else None,
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
    """The sessions that can be simulated well (all that can be simulated, when none can), and those left out."""
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
