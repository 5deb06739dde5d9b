"""Sessions drawn again with replacement, and what they add up to then: the ground of every interval of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_CELLS = 4_000_000
"""Drawn counts held at once."""


def resampled_sums(values: np.ndarray[Any, Any], resamples: int, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    """The sum of each column in each resample: ``values`` has a row for each session (at least one)."""
    import numpy as np

    sessions, columns = values.shape
    sums = np.empty((resamples, columns))
    chunk = max(1, _CELLS // sessions)
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        sums[start : start + size] = draw.multinomial(sessions, np.full(sessions, 1 / sessions), size=size) @ values
    return sums
