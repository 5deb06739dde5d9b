"""Losses that come more than once, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim.core.shares import wilson
from agentsim.report.figures import exact, utc

if TYPE_CHECKING:
    from agentsim.diagnose.loss_findings import RepeatedLosses
    from agentsim.diagnose.loss_leads import Lead
    from agentsim.fleet.summary import Summary
    from agentsim.fleet.summary.repeated_losses import LossLeads

DOLLAR_DIGITS = 12


def findings_document(found: RepeatedLosses) -> dict[str, Any]:
    """The findings and the leads."""
    return {
        "repeated": [
            {
                "cause": one.cause,
                "what": one.what,
                "rhythm": one.rhythm,
                "rows": list(one.rows),
                "tokens": one.tokens,
                "cost": exact(one.cost, DOLLAR_DIGITS),
                "lead": lead_document(one.lead),
            }
            for one in found.repeated
        ],
        "lead": lead_document(found.lead),
    }


def kinds_document(summary: Summary, leads: LossLeads | None) -> dict[str, Any]:
    """The kinds of loss over all sessions, and the leads where sessions were read whole (``sessions``: how many)."""
    found = leads.kinds if leads is not None else (None,) * len(summary.kinds_of_loss)
    return {
        "repeated": [
            {
                "cause": kind.cause,
                "what": kind.what,
                "losses": kind.losses,
                "sessions": kind.sessions,
                "first_time": utc(kind.first_time),
                "last_time": utc(kind.last_time),
                "tokens": kind.tokens,
                "cost": exact(kind.cost, DOLLAR_DIGITS),
                "lead": lead_document(lead),
            }
            for kind, lead in zip(summary.kinds_of_loss, found, strict=True)
        ],
        "lead": lead_document(leads.placeless if leads is not None else None),
        "shared_heads": [
            {
                "cause": head.cause,
                "place": head.place,
                "conversations": head.conversations,
                "tokens": head.tokens,
                "cost": exact(head.cost, DOLLAR_DIGITS),
            }
            for head in summary.shared_heads
        ],
        "looked_at": leads.sessions if leads is not None else 0,
    }


def lead_document(lead: Lead | None) -> dict[str, Any] | None:
    """A lead: its counts, how many times as frequent losses are there (``None``: there are none elsewhere), the 95 %
    intervals of both shares in per mille, and how likely it is by chance."""
    if lead is None:
        return None
    return {
        "after": lead.what,
        "lost": lead.lost,
        "present": lead.present,
        "lost_elsewhere": lead.lost_else,
        "absent": lead.absent,
        "lift": f"{lead.lift:.2f}" if lead.lift is not None else None,
        "lift_interval": [None if end is None else f"{end:.2f}" for end in lead.lift_interval],
        "sessions": lead.sessions,
        "interval_per_mille": _interval(lead.lost, lead.present),
        "interval_elsewhere_per_mille": _interval(lead.lost_else, lead.absent),
        "chance_below": f"{lead.chance:.1e}",
        "sentence": lead.sentence,
    }


def _interval(part: int, whole: int) -> list[int]:
    return [round(share * 1000) for share in wilson(part, whole)]
