"""Runs agents, keeps their logs, has them compared, and runs the agents again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentsim.core.session import Session
from agentsim.harness.plan import Plan
from agentsim.whatif.comparison import CannotSimulate, Comparison, Outcome, compare
from agentsim.whatif.policies import Policy, parse
from benchmarks.whatif import codex_bounds
from benchmarks.whatif.backtest_scores import Baseline, Prediction
from benchmarks.whatif.backtest_sessions import BacktestOrder, LivedSession, bill, live, plan_of
from benchmarks.whatif.backtest_world import Gateway
from benchmarks.whatif.kept_logs import FORMS
from benchmarks.whatif.policy_reruns import RERUNS, Rerun
from benchmarks.whatif.rewritten_runs import REWRITTEN, paid_again, sent_again


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
    if codex_bounds.FORM in forms:
        predictions, baseline = codex_bounds.predictions_of(order, folder)
        found.predictions += [one for one in predictions if not policies or one.policy in policies]
        found.baselines.append(baseline)
        forms = [form for form in forms if form != codex_bounds.FORM]
    if not forms:
        return
    scene, plan = plan_of(order)
    lived = live(order)
    again: list[tuple[Rerun, LivedSession]] = []
    known: list[tuple[Plan, Gateway | None, LivedSession]] = [(plan, None, lived)]
    for rerun in RERUNS:
        if policies and rerun.policy not in policies:
            continue
        changed = rerun.change(plan)
        if changed is None or not rerun.fits(lived):
            continue
        other = next((life for old, gate, life in known if gate is rerun.gateway and old == changed), None)
        if other is None:
            other = live(order, changed, rerun.gateway)
            known.append((changed, rerun.gateway, other))
        again.append((rerun, other))
    sent: dict[Policy, LivedSession] = {}
    for form in forms:
        writer, held = FORMS[form]
        path = folder / f"{order.number:04d}.{form}.jsonl"
        writer(lived, path)
        mine = held(lived)
        paid = bill(mine)
        wanted = [(rerun, other) for rerun, other in again if form in rerun.forms]
        rewritten = [name for name in REWRITTEN if not policies or name in policies]
        name = f"{order.seed}/{order.number}"
        try:
            comparison = _compare(path, [*(rerun.policy for rerun, _ in wanted), *rewritten])
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
            reason = withheld or why.get(rerun.policy, "")
            found.predictions.append(_prediction(name, scene, form, rerun.policy, paid, true, outcome, reason))
        for outcome in comparison.outcomes:
            policy = outcome.policy
            if policy.name not in rewritten:
                continue
            if policy not in sent:
                sent[policy] = sent_again(lived, policy)
            true = paid - paid_again(lived, sent[policy], mine)
            found.predictions.append(_prediction(name, scene, form, policy.name, paid, true, outcome, withheld))


def _prediction(
    name: str, scene: str, form: str, policy: str, paid: int, true: int, outcome: Outcome | None, reason: str
) -> Prediction:
    if outcome is None or outcome.saving is None:
        return Prediction(name, scene, form, policy, paid, true, None, reason=reason)
    span = outcome.interval
    return Prediction(
        name,
        scene,
        form,
        policy,
        paid,
        true,
        outcome.saving,
        None if span is None else span.low,
        None if span is None else span.high,
        told=span is None or span.sign_holds,
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
