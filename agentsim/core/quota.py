"""How much of a plan's allowance was used, as a log says it: percent counters of windows of time."""

from __future__ import annotations

import msgspec


class QuotaReading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One counter after a request. ``used`` is in per cent, rounded by its provider; ``window`` is how many minutes its
    allowance is for, ``resets`` when it begins anew (seconds since the epoch). ``limit`` names the allowance."""

    window: int
    used: float
    resets: int | None = None
    limit: str = ""
