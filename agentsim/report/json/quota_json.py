"""What lost caches took of a plan's allowance, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentsim.report.json.canonical_json import Document

if TYPE_CHECKING:
    from agentsim.context.quota_fit import QuotaFit, QuotaInterval


def quota_documents(fits: Iterable[QuotaFit]) -> list[Document]:
    """A record for each allowance and model. Intervals are in per cent, and ``null`` where nothing is told."""
    return [
        {
            "window_minutes": fit.window,
            "limit": fit.limit,
            "model": fit.model,
            "readings": fit.readings,
            "rose": fit.used,
            "lost_tokens": fit.lost_tokens,
            "per_million_tokens": {name: _interval(interval) for name, interval in fit.rates.items()},
            "lost": _interval(fit.lost),
            "lost_by_price": _interval(fit.lost_by_price),
            "only_at_most": fit.shared,
            "not_told": fit.reason,
        }
        for fit in fits
    ]


def _interval(interval: QuotaInterval | None) -> Document | None:
    if interval is None:
        return None
    return {"at_least": round(interval.least, 6), "at_most": round(interval.most, 6)}
