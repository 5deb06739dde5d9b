"""Runs of one plan under several seeds, and how sure one can be of their mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import msgspec

from agentsim.cache import CacheBackend
from agentsim.harness.plan import Plan
from agentsim.harness.plan_run import Simulation, simulate
from agentsim.harness.task_account import TaskAccount, spread, together

METHOD = "95 % interval of the mean, Student's t"
"""What stands behind every ±."""

# Two-sided 95 % quantiles of Student's t by degrees of freedom; between two of them the wider one counts.
_T95 = dict(
    enumerate(
        map(
            Decimal,
            "12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 "
            "2.101 2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 2.045 2.042".split(),
        ),
        1,
    )
) | {40: Decimal("2.021"), 60: Decimal("2.000"), 120: Decimal("1.980"), 1_000_000: Decimal("1.960")}


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A mean, rounded to a whole number, and half the width of its interval (``None`` for a single run)."""

    mean: int
    half: int | None


class RepeatedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of parameters, run under each of its seeds. ``simulations`` holds the runs that were kept."""

    name: str
    label: str
    values: tuple[tuple[str, Any], ...]
    seeds: tuple[int, ...]
    accounts: tuple[TaskAccount, ...]
    simulations: tuple[Simulation, ...] = ()

    @property
    def whole(self) -> TaskAccount:
        """All runs as one account."""
        return together(self.accounts)

    @property
    def hit_rate(self) -> Estimate | None:
        """Millionths of the input that were read, a run."""
        return self.estimate(lambda one: _share(one.total.read, one.total.total_input))

    @property
    def task_time(self) -> Estimate | None:
        """Nanoseconds of a typical task, a run."""
        return self.estimate(_typical_time)

    def estimate(self, figure: Callable[[TaskAccount], int | None]) -> Estimate | None:
        """The mean of a figure over the runs; ``None`` where a run does not have it."""
        values = [figure(account) for account in self.accounts]
        known = [value for value in values if value is not None]
        return estimate(known) if len(known) == len(values) else None


def _share(part: int, whole: int) -> int | None:
    return None if not whole else (2_000_000 * part + whole) // (2 * whole)


def _typical_time(account: TaskAccount) -> int | None:
    found = spread(account.tasks)
    return None if found is None else found.typical


def estimate(values: Sequence[int]) -> Estimate:
    """The mean of some numbers and its 95 % interval by Student's t."""
    count = len(values)
    mean = Fraction(sum(values), count)
    if count == 1:
        return Estimate(values[0], None)
    variance = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / (count - 1)
    with localcontext() as context:
        context.prec = 40
        error = (Decimal(variance.numerator) / Decimal(variance.denominator) / count).sqrt()
        half = error * _T95[max(known for known in _T95 if known <= count - 1)]
    return Estimate(round(mean), int(half.to_integral_value()))


def _with_chance(plan: Plan) -> CacheBackend:
    from agentsim.cache.provider_chance import SpillingProvider
    from agentsim.cache.routed_backend import RoutedProvider

    return SpillingProvider(RoutedProvider, plan.seed)


def run_trial(
    plan_of: Callable[[int], Plan],
    seeds: Sequence[int],
    *,
    label: str = "",
    values: tuple[tuple[str, Any], ...] = (),
    keep: bool = False,
    step: Callable[[], None] | None = None,
    chance: bool = False,
    simulated: Callable[[Plan], Simulation] | None = None,
) -> RepeatedTrial:
    """Run a plan under each seed; ``step`` is called after each run. Raises ValueError for an unknown provider.

    With ``chance`` it is drawn by lot, from the same seed, which cache answers and what is dropped early. ``simulated``
    runs a plan in another way.
    """
    accounts = []
    kept = []
    name = ""
    for seed in seeds:
        plan = plan_of(seed)
        name = plan.name
        if simulated is not None:
            simulation = simulated(plan)
        else:
            simulation = simulate(plan, _with_chance(plan) if chance else None, keep=keep)
        accounts.append(simulation.account)
        if keep:
            kept.append(simulation)
        if step is not None:
            step()
    return RepeatedTrial(
        name=name, label=label, values=values, seeds=tuple(seeds), accounts=tuple(accounts), simulations=tuple(kept)
    )
