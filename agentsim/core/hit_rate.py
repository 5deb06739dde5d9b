"""The share of a prompt that came from a cache."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from agentsim.core.session import Usage


def hit_rate(usages: Iterable[Usage]) -> Fraction | None:
    """Tokens read from a cache over all input tokens (written ones too), summed over requests before dividing.

    A mean of the requests' own rates would let a thousand tiny prompts outweigh a large one. Exact, between 0 and 1;
    ``None`` when no input was reported, or when no request reported what it read (unknown is not zero).
    """
    read = total = 0
    known = False
    for usage in usages:
        if usage.read is None:
            continue
        known = True
        read += usage.read
        total += usage.total_input or 0
    return Fraction(read, total) if known and total else None
