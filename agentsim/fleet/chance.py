"""Is a difference between two samples of sessions more than chance, and since when is it there?

What is compared are shares, one of each session, so that a session counts once however long it was. If nothing had
changed, any of the sessions could have been in either sample: the difference is held against those of the same sessions
dealt out again and again. That is exact for any distribution, also where no session of a sample lost anything, which
has no spread to estimate an interval from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import numpy as np

    Shares = np.ndarray[Any, Any]

DEALS = 5_000
_MOST_DEALT = 4_000
"""Of more sessions than this the mean is as good as normal, and nothing is dealt."""

_RESAMPLES = 400
_ENDS = (5, 95)
_LEAST_SIDE = 3
"""Sessions on either side of an onset."""

_SEED = 20_260_902


class Chances(msgspec.Struct, frozen=True):
    """How likely chance alone makes the later sample's mean as much larger, or as much smaller, as it is."""

    larger: float
    smaller: float


def chances(before: Shares, after: Shares) -> Chances:
    """The chances of the difference of the means of two samples of at least one share each."""
    import numpy as np

    every = np.concatenate((before, after))
    whole, count = len(every), len(after)
    found = float(after.mean())
    if whole > _MOST_DEALT:
        spread = float(every.std()) * math.sqrt((whole - count) / (count * max(1, whole - 1)))
        if not spread:
            return Chances(1.0, 1.0)
        above = math.erfc((found - float(every.mean())) / spread / math.sqrt(2)) / 2
        return Chances(above, 1 - above)
    draw = np.random.default_rng(_SEED)
    larger = smaller = 0
    slack = 1e-12 * max(1.0, abs(found))
    for start in range(0, DEALS, 1_000):
        size = min(1_000, DEALS - start)
        dealt = draw.random((size, whole)).argpartition(count - 1, axis=1)[:, :count]
        means = every[dealt].mean(axis=1)
        larger += int((means >= found - slack).sum())
        smaller += int((means <= found + slack).sum())
    return Chances((larger + 1) / (DEALS + 1), (smaller + 1) / (DEALS + 1))


def onset(days: np.ndarray[Any, Any], shares: Shares) -> tuple[int, int, int] | None:
    """The day (a number) from which shares are larger, with the ends of the middle 90 % of what resampled sessions
    say; ``None`` where there are too few sessions to part."""
    import numpy as np

    order = np.argsort(days, kind="stable")
    days, shares = days[order], shares[order]
    best = _split(days, shares)
    if best is None:
        return None
    draw = np.random.default_rng(_SEED)
    at = int(np.searchsorted(days, best))
    found = []
    for _ in range(_RESAMPLES):
        chosen = np.concatenate((draw.integers(0, at, at), draw.integers(at, len(days), len(days) - at)))
        chosen.sort()
        again = _split(days[chosen], shares[chosen])
        if again is not None:
            found.append(again)
    low, high = np.percentile(found, _ENDS) if found else (best, best)
    return best, min(best, math.floor(low)), max(best, math.ceil(high))


def _split(days: np.ndarray[Any, Any], shares: Shares) -> int | None:
    """The day that parts the sessions, in the order of their days, so that those from it on are most above the others
    for their number."""
    import numpy as np

    whole = len(days)
    starts = np.flatnonzero(days[1:] != days[:-1]) + 1
    starts = starts[(starts >= _LEAST_SIDE) & (starts <= whole - _LEAST_SIDE)]
    if not len(starts):
        return None
    sums = np.concatenate(([0.0], np.cumsum(shares)))
    below = sums[starts] / starts
    above = (sums[whole] - sums[starts]) / (whole - starts)
    gain = (above - below) * np.sqrt(starts * (whole - starts) / whole)
    return int(days[starts[int(gain.argmax())]])
