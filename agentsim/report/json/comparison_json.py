"""Comparisons and policies for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim import __version__
from agentsim.report.figures import exact
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, TOKEN_DIGITS, Document

if TYPE_CHECKING:
    from agentsim.whatif.comparison import CombinationStep, Comparison, NotTried
    from agentsim.whatif.policies import Policy
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
            "steps": [_step(step) for step in combined.steps],
            "saving": exact(combined.saving, DOLLAR_DIGITS),
            "saving_input_equivalents": exact(combined.saving_equivalents, TOKEN_DIGITS),
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


def _step(step: CombinationStep) -> Document:
    return {
        "policy": step.policy.spec,
        "alone": exact(step.alone, DOLLAR_DIGITS),
        "added": exact(step.added, DOLLAR_DIGITS),
        "together": exact(step.together, DOLLAR_DIGITS),
        "alone_input_equivalents": exact(step.alone_equivalents, TOKEN_DIGITS),
        "added_input_equivalents": exact(step.added_equivalents, TOKEN_DIGITS),
        "together_input_equivalents": exact(step.together_equivalents, TOKEN_DIGITS),
    }


def _left(items: Iterable[NotTried]) -> list[Document]:
    return [{"name": item.name, "reason": item.reason} for item in items]
