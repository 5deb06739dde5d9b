"""Shares of counts: how sure one is of a share, and how surprising two of them are beside each other."""

from __future__ import annotations

import math

_Z = 1.959964


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (E. B. Wilson, 1927)."""
    share, squared = part / whole, _Z * _Z
    middle = (share + squared / (2 * whole)) / (1 + squared / whole)
    half = _Z * math.sqrt(share * (1 - share) / whole + squared / (4 * whole * whole)) / (1 + squared / whole)
    return max(0.0, middle - half), min(1.0, middle + half)


def by_chance(hits: int, group: int, all_hits: int, everything: int) -> float:
    """How likely at least so many of ``all_hits`` fall into a group of this size by chance alone: Fisher's exact test,
    one-sided (R. A. Fisher, 1922)."""
    most = min(group, all_hits)
    if hits <= max(0, all_hits - (everything - group)):
        return 1.0
    whole = _ways(everything, all_hits)
    return min(
        1.0,
        math.fsum(
            math.exp(_ways(group, k) + _ways(everything - group, all_hits - k) - whole) for k in range(hits, most + 1)
        ),
    )


def _ways(n: int, k: int) -> float:
    """The logarithm of how many ways there are to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
