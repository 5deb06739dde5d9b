"""A summary by group for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.figures import exact
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, Document, envelope, problem_documents

if TYPE_CHECKING:
    from agentsim.fleet.summary.grouped import GroupedSummary, GroupSums


def grouped_document(summary: GroupedSummary) -> Document:
    """The groups and what they add up to; what is not known is ``null``."""
    return {
        **envelope("summary-by"),
        "by": summary.by,
        "since": summary.since.isoformat() if summary.since is not None else None,
        "until": summary.until.isoformat() if summary.until is not None else None,
        "groups": [_group(group) for group in summary.groups],
        "total": _group(summary.total),
        "before": _group(summary.before) if summary.before is not None else None,
        "causes": [
            {
                "cause": one.cause,
                "misses": one.misses,
                "misses_before": one.misses_before,
                "lost_cost": exact(one.lost_cost, DOLLAR_DIGITS),
                "lost_cost_before": exact(one.lost_cost_before, DOLLAR_DIGITS),
            }
            for one in summary.causes
        ],
        "undated": summary.undated,
        "problems": problem_documents(summary.problems),
    }


def _group(group: GroupSums) -> Document:
    return {
        "name": group.name,
        "requests": group.requests,
        "input_tokens": group.input,
        "read_tokens": group.read,
        "cost": exact(group.cost, DOLLAR_DIGITS),
        "not_priced": group.unpriced,
        "without_usage": group.bare,
        "misses": group.misses,
        "lost_tokens": group.lost_tokens,
        "lost_cost": exact(group.lost_cost, DOLLAR_DIGITS),
    }
