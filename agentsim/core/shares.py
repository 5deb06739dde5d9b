"""Shares of counts: how sure one is of a share, and how surprising two of them are beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterable

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


def by_chance_in_all(hits: int, strata: Iterable[tuple[int, int, int]]) -> float:
    """How likely at least so many hits fall into a group by chance alone, where each stratum has a group and a share of
    hits of its own: the exact conditional test of several two-by-two tables (J. J. Gart, 1970; N. Mantel and
    W. Haenszel, 1959). Each stratum is (size of the group, hits, everything), and none is compared with another, so
    that what differs between them makes no surprise."""
    found = [1.0]
    least = 0
    for group, all_hits, everything in strata:
        low, high = max(0, all_hits - (everything - group)), min(group, all_hits)
        least += low
        if low == high:
            continue
        whole = _ways(everything, all_hits)
        own = [
            math.exp(_ways(group, k) + _ways(everything - group, all_hits - k) - whole) for k in range(low, high + 1)
        ]
        # What is less likely than this changes no answer, and a long tail takes its time.
        while own[-1] < _NEVER:
            own.pop()
        while own[0] < _NEVER:
            own.pop(0)
            least += 1
        found = [
            math.fsum(found[at - k] * own[k] for k in range(max(0, at - len(found) + 1), min(at, len(own) - 1) + 1))
            for at in range(len(found) + len(own) - 1)
        ]
    return min(1.0, math.fsum(found[max(0, hits - least) :]))


def ratio_interval(part: int, whole: int, other_part: int, other_whole: int) -> tuple[float, float | None]:
    """The 95 % interval of how many times as large one share is as another, from Wilson's of both (A. Donner and
    G. Y. Zou, 2012). The upper end is ``None`` where there is none."""
    one, other = part / whole, other_part / other_whole
    (low, high), (other_low, other_high) = wilson(part, whole), wilson(other_part, other_whole)
    product = one * other
    spread = math.sqrt(max(0.0, product * product - low * other_high * (2 * one - low) * (2 * other - other_high)))
    least = _quotient(product - spread, other_high * (2 * other - other_high))
    spread = math.sqrt(max(0.0, product * product - high * other_low * (2 * one - high) * (2 * other - other_low)))
    most = _quotient(product + spread, other_low * (2 * other - other_low))
    return least or 0.0, most


_NEVER = 1e-30


def _quotient(above: float, below: float) -> float | None:
    return above / below if abs(below) > 1e-12 else None


def _ways(n: int, k: int) -> float:
    """The logarithm of how many ways there are to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
