"""Comparisons and policies for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim import __version__
from agentsim.report.figures import exact
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, TOKEN_DIGITS, Document
from agentsim.report.saving_words import told

if TYPE_CHECKING:
    from agentsim.whatif.comparison import CombinationStep, Comparison, NotTried
    from agentsim.whatif.policies import Policy
    from agentsim.whatif.saving_interval import SavingInterval
    from agentsim.whatif.setting_sweeps import SettingSweep


def comparison_document(comparison: Comparison) -> Document:
    """Sessions as recorded and under policies; savings are ``null`` where money is withheld."""
    calibration = comparison.calibration
    combined = comparison.combined
    return {
        "agentsim": __version__,
        "report": "compare",
        "version": 1,
        "sessions": comparison.sessions,
        "harness": comparison.harness,
        "calibration": {
            "rows": calibration.rows,
            "rows_exact": calibration.exact,
            "rows_without_body": calibration.rebuilt,
            "tokens": calibration.tokens,
            "tokens_explained": calibration.explained,
            "rows_lost": calibration.lost,
            "rows_lost_exact": calibration.lost_exact,
            "rows_with_a_fact_of_the_world": calibration.world,
            "bill": exact(calibration.logged, DOLLAR_DIGITS),
            "bill_off": exact(calibration.off, DOLLAR_DIGITS),
        },
        "withheld": comparison.withheld,
        "models_without_price": list(comparison.without_price),
        "policies": comparison.records(),
        "together": None
        if combined is None
        else {
            "steps": _steps(combined.steps),
            "saving": exact(combined.told, DOLLAR_DIGITS),
            "saving_between": _between(combined.interval, not combined.is_unproven),
            "saving_input_equivalents": exact(combined.told_equivalents, TOKEN_DIGITS),
        },
        "not_tried": _left(comparison.not_tried),
        "left_out": _left(comparison.left_out),
    }


def sweep_document(sweep: SettingSweep) -> Document:
    """The comparison that a curve comes from, and its points in order of their values."""
    best = sweep.best
    return {
        **comparison_document(sweep.comparison),
        "sweep": sweep.name,
        "best": None if best is None else best.value,
        "points": [
            {
                "value": point.value,
                "setting": point.setting,
                "cost": exact(point.cost, DOLLAR_DIGITS),
                "saving": exact(point.saving, DOLLAR_DIGITS),
                "saving_at_least": exact(point.least, DOLLAR_DIGITS),
                "saving_at_most": exact(point.most, DOLLAR_DIGITS),
                "saving_input_equivalents": exact(point.equivalents, TOKEN_DIGITS),
                "sessions_changed": point.changed,
                "requests_added": point.added,
                "not_tried": point.reason,
            }
            for point in sweep.points
        ],
    }


def policies_document(kinds: Sequence[type[Policy]]) -> Document:
    """Policies with their parameters, conditions and instructions."""
    from agentsim.whatif.policies import parameters
    from agentsim.whatif.policies.parameter_meanings import meanings

    texts = {kind.name: meanings(kind) for kind in kinds}
    return {
        "agentsim": __version__,
        "report": "policies",
        "version": 1,
        "policies": [
            {
                "name": kind.name,
                "summary": kind.summary,
                "assumes": kind.assumes,
                "changes": kind.changes,
                "needs_bodies": kind.needs_bodies,
                "excludes": list(kind.slots),
                "how": dict(kind.how),
                "parameters": [
                    {
                        "name": p.name,
                        "type": p.type,
                        "default": p.default,
                        "choices": list(p.choices),
                        "meaning": texts[kind.name].get(p.name),
                    }
                    for p in parameters(kind)
                ],
            }
            for kind in kinds
        ],
    }


def _steps(steps: Sequence[CombinationStep]) -> list[Document]:
    """The steps of a combination. What rests on a policy of which no dollars are told has none either."""
    found: list[Document] = []
    shown = True
    for step in steps:
        alone = not step.is_unproven
        shown = shown and alone
        found.append(
            {
                "policy": step.policy.spec,
                "alone": exact(told(step.alone, step.alone_interval, alone), DOLLAR_DIGITS),
                "added": exact(told(step.added, step.added_interval, shown), DOLLAR_DIGITS),
                "together": exact(told(step.together, step.together_interval, shown), DOLLAR_DIGITS),
                "added_between": _between(step.added_interval, shown),
                "together_between": _between(step.together_interval, shown),
                "alone_input_equivalents": exact(
                    told(step.alone_equivalents, step.alone_interval, alone), TOKEN_DIGITS
                ),
                "added_input_equivalents": exact(
                    told(step.added_equivalents, step.added_interval, shown), TOKEN_DIGITS
                ),
                "together_input_equivalents": exact(
                    told(step.together_equivalents, step.together_interval, shown), TOKEN_DIGITS
                ),
            }
        )
    return found


def _between(interval: SavingInterval | None, shown: bool) -> list[str | None] | None:
    if interval is None or not shown:
        return None
    return [exact(interval.low, DOLLAR_DIGITS), exact(interval.high, DOLLAR_DIGITS)]


def _left(items: Iterable[NotTried]) -> list[Document]:
    return [{"name": item.name, "reason": item.reason} for item in items]
