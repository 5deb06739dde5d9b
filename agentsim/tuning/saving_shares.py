"""A saving as a share of the bill, and between what it lies when other sessions of the same kind follow."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import msgspec

from agentsim.harness.random_streams import Streams

RESAMPLES = 1_000
LOW, HIGH = 5, 95
"""Percentiles between which nine of ten drawn sums lie."""

FEWEST = 8
"""Of fewer sessions none is told what the next ones will cost."""

_SEED = 20_261_130


class SessionSaving(msgspec.Struct, frozen=True, gc=False):
    """What one session cost and what a policy would have saved in it, in picodollars."""

    cost: int
    saving: int


class ShareInterval(msgspec.Struct, frozen=True, gc=False):
    """Shares of a bill in millionths: the best guess, and between what nine in ten lie."""

    share: int
    low: int
    high: int

    def holds(self, share: int) -> bool:
        """Whether a share lies between the ends."""
        return self.low <= share <= self.high

    def widened(self, down: int, up: int) -> ShareInterval:
        """The interval with what else is not known, by so many millionths downward and upward. That does not depend on
        which sessions were drawn, so the two add as squares."""
        low, high = _together(self.share - self.low, down), _together(self.high - self.share, up)
        return ShareInterval(self.share, self.share - low, self.share + high)


def _together(one: int, other: int) -> int:
    """The root of the sum of two squares, rounded up; a negative ``other`` counts as none."""
    square = one * one + max(other, 0) ** 2
    return isqrt(square - 1) + 1 if square else 0


def share_of(saving: int, cost: int) -> int:
    """A saving in millionths of a bill, rounded towards zero; 0 of no bill."""
    if not cost:
        return 0
    found = abs(saving) * 1_000_000 // cost
    return found if saving >= 0 else -found


def measured_share(savings: Sequence[SessionSaving]) -> ShareInterval:
    """What these sessions saved, and between what it lies when they are drawn again with replacement."""
    return _interval(savings, following=None, tried=1)


def predicted_share(savings: Sequence[SessionSaving], *, following: int | None = None, tried: int = 1) -> ShareInterval:
    """What ``following`` sessions (as many again by default) of the same kind will save: what these saved, and between
    what it will lie. Both what is known of these and what comes is a draw.

    ``tried`` is of how many settings this one is the best: the best of several owes more to chance, so the lower end is
    that which all of them together would fall below in five of a hundred cases (Bonferroni).
    """
    return _interval(savings, following=len(savings) if following is None else following, tried=tried)


def _interval(savings: Sequence[SessionSaving], *, following: int | None, tried: int) -> ShareInterval:
    best = share_of(sum(one.saving for one in savings), sum(one.cost for one in savings))
    if not savings:
        return ShareInterval(0, 0, 0)
    draw = Streams(_SEED).stream("sessions drawn again")

    def drawn(count: int) -> int:
        picked = [savings[draw.below(len(savings))] for _ in range(count)]
        return share_of(sum(one.saving for one in picked), sum(one.cost for one in picked))

    off = []
    for _ in range(RESAMPLES):
        # The known ones err as far as a draw of them does; those that come differ from what is true by their own draw.
        off.append(drawn(len(savings)) - best + (0 if following is None else drawn(following) - best))
    off.sort()
    stretched = _few(len(savings))
    low = off[int(RESAMPLES * LOW / tried / 100)] * stretched
    high = off[-1 - RESAMPLES * (100 - HIGH) // 100] * stretched
    return ShareInterval(best, best + int(min(low, 0)), best + int(max(high, 0)))


def _few(count: int) -> float:
    """By what the spread of so few sessions is too small: a sample's is, by the root of (n - 1) / n, and beyond that
    what is known of it follows Student's t (Abramowitz and Stegun, 26.7.5, first term at the 95th percentile)."""
    return (count / (count - 1)) ** 0.5 * (1 + 0.927 / (count - 1)) if count > 1 else 1.0
