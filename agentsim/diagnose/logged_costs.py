"""What a log says that its requests cost, beside the prices here: where they disagree, and where only it knows."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.core.session import Row

LEAST_OFF = 50
"""Costs that differ by no more than one part in so many are rounded, not otherwise computed."""


class LoggedCost(msgspec.Struct, frozen=True, gc=False):
    """The costs that a log states of the requests of one model, in picodollars. ``ours`` is what these cost by the
    prices here; ``None`` where none is known."""

    model: str
    requests: int
    logged: int
    ours: int | None

    @property
    def disagrees(self) -> bool:
        """Whether the log's word is another than the prices'."""
        return self.ours is not None and abs(self.logged - self.ours) * LEAST_OFF > max(self.ours, self.logged)


def logged_costs(rows: Iterable[Row]) -> tuple[LoggedCost, ...]:
    """The costs that a log states, by model and by whether it has a price, the largest first. Copies do not count."""
    sums: dict[tuple[str, bool], list[int]] = {}
    for row in rows:
        request = row.request
        if request.logged_cost is None or not request.counted:
            continue
        found = sums.setdefault((request.model, row.cost is not None), [0, 0, 0])
        found[0] += 1
        found[1] += request.logged_cost
        found[2] += row.cost or 0
    costs = [
        LoggedCost(model, count, logged, ours if priced else None)
        for (model, priced), (count, logged, ours) in sums.items()
    ]
    return tuple(sorted(costs, key=lambda cost: (-cost.logged, cost.model)))
