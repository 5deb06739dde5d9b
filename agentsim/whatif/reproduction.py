"""How well the model of the provider reproduces what a log reported: said before anything that rests on it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.core.session import Row

LEAST_EXPLAINED = (9, 10)
"""Below this share of explained tokens, no dollars are given."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Rows and tokens of a log beside those of the simulation.

    ``exact`` rows have the very numbers that were reported: read, written, fresh. ``explained`` are the tokens that the
    simulation put where the log has them. ``rebuilt`` is how many rows have no recorded prompt: their prompts were made
    from the counters, so that their agreement shows no more than that the rules allow what was logged.
    """

    rows: int = 0
    exact: int = 0
    tokens: int = 0
    explained: int = 0
    rebuilt: int = 0

    @property
    def holds(self) -> bool:
        """Whether enough tokens are explained to reckon with the simulation."""
        return self.rows > 0 and self.explained * LEAST_EXPLAINED[1] >= self.tokens * LEAST_EXPLAINED[0]

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(
            rows=self.rows + other.rows,
            exact=self.exact + other.exact,
            tokens=self.tokens + other.tokens,
            explained=self.explained + other.explained,
            rebuilt=self.rebuilt + other.rebuilt,
        )


def calibrate(rows: Iterable[Row], *, rebuilt: bool) -> Calibration:
    """Compare simulated rows with the usage that their requests reported; rows without either are left out."""
    count = exact = tokens = explained = 0
    for row in rows:
        logged, modeled = row.request.usage, row.usage
        if row.request.prompt is None or not row.request.counted or logged is None or logged.total_input is None:
            continue
        count += 1
        parts = ((logged.read, modeled.read), (logged.write, modeled.write), (logged.fresh, modeled.fresh))
        # A token in the wrong place is missing in one part and too much in another: half of the differences.
        off = sum(abs((one or 0) - (other or 0)) for one, other in parts)
        exact += off == 0
        total = max(logged.total_input, modeled.total_input or 0)
        tokens += total
        explained += max(0, total - (off + 1) // 2)
    return Calibration(rows=count, exact=exact, tokens=tokens, explained=explained, rebuilt=count if rebuilt else 0)
