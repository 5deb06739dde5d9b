"""Bounds for automatic caches, and what switches of the model cost, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report.figures import exact
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, Document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentsim.whatif.cache_bounds import CacheBounds
    from agentsim.whatif.model_switches import ModelSwitch


def bounds_document(found: CacheBounds | None) -> Document | None:
    """The bounds over sessions that cannot be simulated; ``None`` where there are none."""
    if found is None:
        return None
    return {
        "sessions": found.sessions,
        "requests": found.requests,
        "not_priced": found.unpriced,
        "input_tokens": found.input_tokens,
        "bill": exact(found.bill, DOLLAR_DIGITS),
        "bounds": [
            {
                "name": bound.name,
                "rows": bound.rows,
                "at_least": exact(bound.least, DOLLAR_DIGITS),
                "at_most": exact(bound.most, DOLLAR_DIGITS),
                "tokens_at_least": bound.least_tokens,
                "tokens_at_most": bound.most_tokens,
                "condition": bound.condition,
                "not_offered": bound.reason,
            }
            for bound in found.bounds
        ],
    }


def switch_documents(switches: Iterable[ModelSwitch]) -> list[Document]:
    """A record for each stretch with another model."""
    return [
        {
            "session": switch.session,
            "lane": switch.lane,
            "from": switch.before,
            "to": switch.after,
            "first_row": switch.first,
            "last_row": switch.last,
            "requests": switch.requests,
            "went_back": switch.back,
            "lost_tokens": switch.lost_tokens,
            "paid": exact(switch.paid, DOLLAR_DIGITS),
            "staying": exact(switch.staying, DOLLAR_DIGITS),
            "saved": exact(switch.saved, DOLLAR_DIGITS),
        }
        for switch in switches
    ]
