"""Simulations for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsim import __version__
from agentsim.core.sums import Sums
from agentsim.harness.repeated_trials import METHOD, Estimate, RepeatedTrial
from agentsim.harness.task_account import CompactionCosts, TaskAccount, spread
from agentsim.report.figures import exact, utc

DOLLAR_DIGITS = 12
TOKEN_DIGITS = 6
SECOND_DIGITS = 9
SHARE_DIGITS = 6


def run_document(trials: Sequence[RepeatedTrial], story: str) -> dict[str, Any]:
    """What was simulated: a record for each combination, with its account and its estimates."""
    return {
        "agentsim": __version__,
        "report": "run",
        "version": 1,
        "scenario": trials[0].name.split(".")[0],
        "story": story.strip(),
        "seeds": list(trials[0].seeds),
        "interval": METHOD,
        "combinations": [_trial(trial) for trial in trials],
    }


def scenarios_document(stories: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The bundled scenarios: names and stories."""
    listed = [{"name": name, "story": story} for name, story in stories]
    return {"agentsim": __version__, "report": "scenarios", "version": 1, "scenarios": listed}


def _trial(trial: RepeatedTrial) -> dict[str, Any]:
    account = trial.whole
    return {
        "values": {path: _plain(value) for path, value in trial.values},
        "seeds": list(trial.seeds),
        "requests": account.total.requests,
        "cost": _estimate(trial.estimate(lambda one: one.total.known_cost), DOLLAR_DIGITS),
        "input_equivalents": _estimate(trial.estimate(lambda one: one.total.known_equivalents), TOKEN_DIGITS),
        "hit_rate": _estimate(trial.hit_rate, SHARE_DIGITS),
        "typical_task_seconds": _estimate(trial.task_time, SECOND_DIGITS),
        "totals": _sums(account.total),
        "purposes": {purpose: _sums(sums) for purpose, sums in account.purposes},
        "compactions": [_compaction(one) for one in account.compactions],
        **_outcome(account),
    }


def _outcome(account: TaskAccount) -> dict[str, Any]:
    return {
        "started": account.started,
        "completed": account.finished,
        "accepted": account.accepted,
        "cost_per_accepted": exact(account.cost_per_accepted, DOLLAR_DIGITS),
        "task_seconds": _spread(account.tasks, SECOND_DIGITS),
        "turn_seconds": _spread(account.turns, SECOND_DIGITS),
        "stage_seconds": {stage: exact(time, SECOND_DIGITS) for stage, time in account.stages},
        "context_tokens": _spread(account.peaks, 0),
        "window": account.window,
        "kept_outside_tokens": account.kept_outside,
        "refused": account.refused,
        "timed_out": account.timed_out,
        "cleared_tokens": account.cleared,
        "dropped_timers": account.dropped_timers,
        "not_measurable": [
            *(["cost_per_accepted"] if account.accepted is None else []),
            *(["context_share"] if account.window is None else []),
            "correctness",
            "cache_size",
            "provider_internals",
        ],
    }


def _sums(sums: Sums) -> dict[str, Any]:
    return {
        "requests": sums.requests,
        "fresh": sums.fresh,
        "written": sums.written,
        "read": sums.read,
        "output": sums.output,
        "cost": exact(sums.known_cost, DOLLAR_DIGITS),
        "input_equivalents": exact(sums.known_equivalents, TOKEN_DIGITS),
        "not_priced": sums.unpriced,
    }


def _compaction(one: CompactionCosts) -> dict[str, Any]:
    return {
        "lane": one.lane,
        "method": one.method,
        "time": utc(one.time),
        "before": one.before,
        "after": one.after,
        "summary": _sums(one.summary),
        "first_after": _sums(one.first),
        "later": _sums(one.later),
    }


def _estimate(estimate: Estimate | None, digits: int) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"mean": exact(estimate.mean, digits), "half_width": exact(estimate.half, digits)}


def _spread(values: Sequence[int], digits: int) -> dict[str, Any] | None:
    found = spread(values)
    if found is None:
        return None
    figures = {"typical": found.typical, "tail_95": found.tail, "largest": found.largest}
    # Sizes are whole numbers, durations exact decimals in strings.
    return {"count": found.count, **{name: exact(n, digits) if digits else n for name, n in figures.items()}}


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | str) or value is None else str(value)
