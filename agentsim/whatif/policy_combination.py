"""The best policies together: a search that adds, leaves out and exchanges until nothing makes it cheaper.

What several policies save is always simulated, never summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from agentsim.whatif.comparison_result import Combination, CombinationStep, Outcome
from agentsim.whatif.policy_simulation import SimulatedSums
from agentsim.whatif.policy_trial import PolicyTrial, total
from agentsim.whatif.saving_interval import SavingInterval, added_interval, interval_of

_FEW = 12
"""So many policies are all tried on top of the others, also those that save nothing alone."""

_PAIRED = 8
"""Of so many policies two are tried at once where no single one helps: an hour may pay only with refreshes."""

Choice = tuple[Outcome, ...]


def best_together(trial: PolicyTrial, outcomes: Sequence[Outcome], done: Callable[[], object]) -> Combination:
    """The cheapest compatible policies that the search finds, in the order in which they add most."""
    return _CombinationSearch(trial, outcomes, done).found()


class _CombinationSearch:
    def __init__(self, trial: PolicyTrial, outcomes: Sequence[Outcome], done: Callable[[], object]) -> None:
        self._trial = trial
        self._done = done
        self._nothing = trial.weight(trial.recorded)
        self._outcomes = sorted(outcomes, key=lambda outcome: trial.weight(outcome.sums))
        if len(self._outcomes) > _FEW:
            # One that saves nothing alone may still add to another: where there are few, all are tried.
            saving = [o for o in self._outcomes if trial.weight(o.sums) < self._nothing]
            others = [o for o in self._outcomes if o not in saving]
            dearer, idle = ([o for o in others if bool(o.changed) is changes] for changes in (True, False))
            self._outcomes = saving + dearer[: max(_FEW - len(saving), _FEW // 2)] + idle[:_FEW]
        self._known: dict[frozenset[str], int | None] = {}

    def found(self) -> Combination:
        """Start with the best alone; make the best single change until none makes it cheaper."""
        chosen: Choice = ()
        cost = self._nothing
        while True:
            best = self._best_change(chosen, cost)
            if best is None:
                break
            chosen, cost = best
            self._done()
        return self._told(self._in_order_of_gain(chosen))

    def _best_change(self, chosen: Choice, cost: int) -> tuple[Choice, int] | None:
        """The first kind of change that helps: the best addition, else leaving one out, else one for others, else
        two at once."""
        for changes in (self._additions(chosen), self._without(chosen), self._exchanges(chosen), self._pairs(chosen)):
            best: tuple[Choice, int] | None = None
            for changed in changes:
                found = self._cost(changed)
                if found is not None and found < (cost if best is None else best[1]):
                    best = changed, found
            if best is not None:
                return best
        return None

    def _additions(self, chosen: Choice) -> Iterator[Choice]:
        return ((*chosen, outcome) for outcome in self._outcomes if not _rivals(outcome, chosen))

    def _without(self, chosen: Choice) -> Iterator[Choice]:
        return (tuple(other for other in chosen if other is not taken) for taken in chosen)

    def _exchanges(self, chosen: Choice) -> Iterator[Choice]:
        """Another policy in place of all that exclude it."""
        for outcome in self._outcomes:
            rivals = _rivals(outcome, chosen)
            if rivals and outcome not in chosen:
                yield (*(taken for taken in chosen if taken not in rivals), outcome)

    def _pairs(self, chosen: Choice) -> Iterator[Choice]:
        """Two more policies, in place of all that exclude them."""
        for one, other in combinations(self._outcomes[:_PAIRED], 2):
            if one in chosen or other in chosen or _rivals(one, (other,)):
                continue
            gone = (*_rivals(one, chosen), *_rivals(other, chosen))
            yield (*(taken for taken in chosen if taken not in gone), one, other)

    def _cost(self, chosen: Choice) -> int | None:
        """What is to be made small; ``None`` where the provider would refuse requests."""
        key = frozenset(outcome.policy.spec for outcome in chosen)
        if key not in self._known:
            sums = self._sums(chosen)
            self._known[key] = None if sums.refused > self._trial.recorded.refused else self._trial.weight(sums)
        return self._known[key]

    def _sums(self, chosen: Choice) -> SimulatedSums:
        return self._trial.run([outcome.policy for outcome in chosen])

    def _in_order_of_gain(self, chosen: Choice) -> Choice:
        """Each adds as much as any that is left could; where that would cost, the order of the search stands."""
        ordered: Choice = ()
        cost, left = self._nothing, list(chosen)
        while left:
            costs = [(found, index) for index, o in enumerate(left) if (found := self._cost((*ordered, o))) is not None]
            if not costs or min(costs)[0] >= cost:
                return (*ordered, *left)
            cost, index = min(costs)
            ordered = (*ordered, left.pop(index))
        return ordered

    def _told(self, chosen: Choice) -> Combination:
        steps: list[CombinationStep] = []
        before = self._trial.recorded
        earlier = self._trial.lived([])
        span: SavingInterval | None = None
        for number, outcome in enumerate(chosen, 1):
            policies = [taken.policy for taken in chosen[:number]]
            lived = self._trial.lived(policies)
            after = total(lived)
            saved, equal = self._trial.savings(before)
            together, together_equal = self._trial.savings(after)
            added = None if together is None or saved is None else together - saved
            span = None if together is None else interval_of(lived, together, policies)
            steps.append(
                CombinationStep(
                    policy=outcome.policy,
                    alone=outcome.saving,
                    added=added,
                    together=together,
                    alone_equivalents=outcome.saving_equivalents,
                    added_equivalents=None if together_equal is None or equal is None else together_equal - equal,
                    together_equivalents=together_equal,
                    alone_interval=outcome.interval,
                    added_interval=None if added is None else added_interval(earlier, lived, policies, outcome.policy),
                    together_interval=span,
                )
            )
            before, earlier = after, lived
        saving, equivalents = self._trial.savings(before)
        return Combination(
            steps=tuple(steps), sums=before, saving=saving, saving_equivalents=equivalents, interval=span
        )


def _rivals(outcome: Outcome, chosen: Choice) -> Choice:
    """Those that decide the same as another policy, itself included."""
    slots = set(outcome.policy.slots)
    return tuple(
        taken for taken in chosen if taken.policy.name == outcome.policy.name or slots & set(taken.policy.slots)
    )
