"""Settings proposed, and settings held against what came of them, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.figures import exact, utc
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, Document

if TYPE_CHECKING:
    from agentsim.tuning.saving_shares import ShareInterval
    from agentsim.tuning.tune_choice import TuneProposal
    from agentsim.tuning.tune_verification import TuneVerification


def proposal_document(proposal: TuneProposal) -> Document:
    """A proposal: what is chosen, what it is predicted to save, and everything that was tried."""
    month = proposal.monthly
    return {
        "harness": proposal.harness,
        "version": proposal.version,
        "sessions": {"older": proposal.older, "newest": proposal.newer},
        "first": utc(proposal.first),
        "last": utc(proposal.last),
        "cost": exact(proposal.cost, DOLLAR_DIGITS),
        "cost_newest": exact(proposal.newer_cost, DOLLAR_DIGITS),
        "lifetimes": {"main": proposal.lifetimes.main, "children": proposal.lifetimes.children},
        "settings": {key: value for one in proposal.chosen for key, value in one.setting.settings.items()},
        "policies": [one.setting.policy for one in proposal.chosen],
        "best": [one.setting.policy for one in proposal.best],
        "predicted": _interval(proposal.predicted),
        "monthly": None
        if month is None
        else {
            "saving": exact(month[0], DOLLAR_DIGITS),
            "low": exact(month[1], DOLLAR_DIGITS),
            "high": exact(month[2], DOLLAR_DIGITS),
        },
        "tried": [
            {
                "policy": one.setting.policy,
                "settings": one.setting.settings,
                "saving_older": exact(one.older, DOLLAR_DIGITS),
                "saving_newest": exact(one.newer, DOLLAR_DIGITS),
                "not_chosen": one.reason or None,
            }
            for one in proposal.tried
        ],
        "left_out": [{"session": each.name, "reason": each.reason} for each in proposal.left_out],
    }


def verification_document(verification: TuneVerification) -> Document:
    """A prediction beside what came of it."""
    application = verification.application
    return {
        "file": application.file,
        "applied": utc(application.time),
        "settings": application.written,
        "policies": list(application.policies),
        "predicted": _interval(application.predicted),
        "sessions": verification.sessions,
        "in_force": verification.in_force,
        "cost": exact(verification.cost, DOLLAR_DIGITS),
        "saved": exact(verification.saved, DOLLAR_DIGITS),
        "measured": _interval(verification.measured),
        "by_bills": _interval(verification.by_bills),
        "comparable": _per_cent(verification.comparable),
        "judgement": verification.judgement,
    }


def _interval(interval: ShareInterval | None) -> Document | None:
    """Shares of the bill in per cent, as exact decimals."""
    if interval is None:
        return None
    return {"share": _per_cent(interval.share), "low": _per_cent(interval.low), "high": _per_cent(interval.high)}


def _per_cent(millionths: int) -> str | None:
    return exact(millionths, 4)
