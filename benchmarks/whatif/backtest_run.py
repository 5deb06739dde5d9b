"""Runs agents, keeps their logs, has them compared, and runs the agents again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentsim.core.session import Session
from agentsim.harness.plan import Plan
from agentsim.whatif.comparison import CannotSimulate, Comparison, compare
from agentsim.whatif.policies import parse
from benchmarks.whatif.backtest_scores import Baseline, Prediction
from benchmarks.whatif.backtest_sessions import BacktestOrder, LivedSession, bill, live, plan_of
from benchmarks.whatif.backtest_world import Gateway
from benchmarks.whatif.kept_logs import FORMS
from benchmarks.whatif.policy_reruns import RERUNS, Rerun


@dataclass
class BacktestResult:
    """What was predicted and what was true."""

    predictions: list[Prediction] = field(default_factory=list)
    baselines: list[Baseline] = field(default_factory=list)

    def plus(self, other: BacktestResult) -> None:
        """Take in what another part of the run found."""
        self.predictions += other.predictions
        self.baselines += other.baselines


def run(
    orders: Iterable[BacktestOrder], forms: Sequence[str], policies: Sequence[str] = (), keep: Path | None = None
) -> BacktestResult:
    """Backtest these sessions. ``keep`` is a folder for the logs."""
    found = BacktestResult()
    with tempfile.TemporaryDirectory(prefix="whatif-") as scratch:
        for order in orders:
            _one(order, forms, policies, keep or Path(scratch), found)
    return found


def _one(
    order: BacktestOrder, forms: Sequence[str], policies: Sequence[str], folder: Path, found: BacktestResult
) -> None:
    scene, plan = plan_of(order)
    lived = live(order)
    again: list[tuple[Rerun, LivedSession]] = []
    known: list[tuple[Plan, Gateway | None, LivedSession]] = [(plan, None, lived)]
    for rerun in RERUNS:
        if policies and rerun.policy not in policies:
            continue
        changed = rerun.change(plan)
        if changed is None:
            continue
        other = next((life for old, gate, life in known if gate is rerun.gateway and old == changed), None)
        if other is None:
            other = live(order, changed, rerun.gateway)
            known.append((changed, rerun.gateway, other))
        again.append((rerun, other))
    for form in forms:
        writer, held = FORMS[form]
        path = folder / f"{order.number:04d}.{form}.jsonl"
        writer(lived, path)
        paid = bill(held(lived))
        wanted = [(rerun, other) for rerun, other in again if form in rerun.forms]
        name = f"{order.seed}/{order.number}"
        try:
            comparison = _compare(path, [rerun.policy for rerun, _ in wanted])
        except CannotSimulate as error:
            found.baselines.append(Baseline(name, form, paid, None, str(error)))
            continue
        recorded = comparison.recorded.cost
        withheld = comparison.withheld or ""
        found.baselines.append(Baseline(name, form, paid, recorded - paid, withheld))
        by_spec = {outcome.policy.spec: outcome for outcome in comparison.outcomes}
        why = {each.name: each.reason for each in comparison.not_tried}
        for rerun, other in wanted:
            outcome = by_spec.get(parse(rerun.policy).spec)
            true = paid_in_all(lived, form, rerun.policy) - paid_in_all(other, form, rerun.policy)
            if outcome is None or outcome.saving is None:
                reason = withheld or why.get(rerun.policy, "")
                found.predictions.append(Prediction(name, scene, form, rerun.policy, paid, true, None, reason=reason))
                continue
            span = outcome.interval
            found.predictions.append(
                Prediction(
                    name,
                    scene,
                    form,
                    rerun.policy,
                    paid,
                    true,
                    outcome.saving,
                    None if span is None else span.low,
                    None if span is None else span.high,
                    told=outcome.told is not None,
                )
            )


def paid_in_all(lived: LivedSession, form: str, policy: str) -> int:
    """What the requests of the log cost, and what the policy itself decides: refreshes, or summaries."""
    held = FORMS[form][1](lived)
    known = {request.id for request in held}
    first = min((request.start or 0) for request in held)
    decided = {"keep_alive", "summary"} if policy.startswith("compact") else {"keep_alive"}
    besides = [
        request
        for request in lived.session.requests
        if request.purpose in decided and request.id not in known and (request.start or 0) >= first
    ]
    return bill([*held, *besides])


def _compare(path: Path, policies: Sequence[str]) -> Comparison:
    from agentsim.traces.format_registry import read

    sessions: list[Session] = list(read([str(path)]))
    return compare(sessions, policies)
