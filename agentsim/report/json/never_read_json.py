"""What was written to a cache and never read, for programs."""

from __future__ import annotations

from typing import Any

from agentsim.diagnose.never_read import CODE, NeverRead, in_vain
from agentsim.report import figures


def in_vain_document(one: NeverRead | None) -> dict[str, Any] | None:
    """What one row wrote in vain; ``None`` where nothing is known to be."""
    if one is None:
        return None
    return {
        "cause": CODE,
        "tokens": one.unread,
        "surcharge": figures.exact(one.surcharge, 12),
        "why": one.why,
        "evidence": one.evidence,
        "established": one.established,
    }


def in_vain_sums(found: tuple[NeverRead | None, ...]) -> dict[str, Any]:
    """The sums over all rows."""
    sums = in_vain(found)
    return {"writes": sums.writes, "tokens": sums.tokens, "surcharge": figures.exact(sums.surcharge, 12)}
