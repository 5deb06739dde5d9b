"""A saving as a share of the bill, and between what it lies when other sessions of the same kind follow."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.harness.random_streams import Streams

RESAMPLES = 800
NINE_IN_TEN = (5, 95)
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
        """The interval with its ends moved outward by so many millionths."""
        return ShareInterval(self.share, self.low - max(down, 0), self.high + max(up, 0))


def share_of(saving: int, cost: int) -> int:
    """A saving in millionths of a bill, rounded towards zero; 0 of no bill."""
    if not cost:
        return 0
    found = abs(saving) * 1_000_000 // cost
    return found if saving >= 0 else -found


def measured_share(savings: Sequence[SessionSaving]) -> ShareInterval:
    """What these sessions saved, and between what it lies when they are drawn again with replacement."""
    return _interval(savings, None)


def foretold_share(savings: Sequence[SessionSaving], following: int | None = None) -> ShareInterval:
    """What ``following`` sessions (as many again by default) of the same kind will save: what these saved, and between
    what it will lie. Both what is known of these and what comes is a draw."""
    return _interval(savings, len(savings) if following is None else following)


def _interval(savings: Sequence[SessionSaving], following: int | None) -> ShareInterval:
    best = share_of(sum(one.saving for one in savings), sum(one.cost for one in savings))
    if not savings:
        return ShareInterval(0, 0, 0)
    draw = Streams(_SEED).stream("sessions drawn again")

    def drawn(count: int) -> int:
        picked = [savings[draw.below(len(savings))] for _ in range(count)]
        return share_of(sum(one.saving for one in picked), sum(one.cost for one in picked))

    shares = []
    for _ in range(RESAMPLES):
        share = drawn(len(savings))
        # The known ones err as far as a draw of them does; those that come differ from what is true by their own draw.
        shares.append(share if following is None else best + (drawn(following) - best) + (share - best))
    shares.sort()
    low, high = (shares[RESAMPLES * percent // 100 - (percent > 50)] for percent in NINE_IN_TEN)
    return ShareInterval(best, min(low, best), max(high, best))
