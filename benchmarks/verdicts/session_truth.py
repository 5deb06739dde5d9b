"""What really happened to a request, told by the world that answered it, and kept apart from all logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["first", "healthy", "loss", "informed", "free"]
"""``healthy``: nothing was lost, and no loss may be told. ``loss``: a cause is to be named. ``informed``: no loss, but
something is to be said (a compaction, a prompt below the minimum). ``free``: not scored."""

SECTION_CODES = {
    "tools": ("AS105", "AS190"),
    "system": ("AS112", "AS190"),
    "messages": ("AS130", "AS190"),
}
"""What may be said of a changed section whose place the evidence does not hold."""


@dataclass(frozen=True)
class Truth:
    """``right`` are codes that name the cause; ``coarse`` those that name no more than evidence without bodies can;
    ``lost`` counts tokens that were cached, are still in the prompt, and were not read. ``hidden``: no log shows the
    cause, so that leaving it open is right."""

    outcome: Outcome
    cell: str = ""
    right: tuple[str, ...] = ()
    coarse: tuple[str, ...] = ()
    lost: int = 0
    hidden: bool = False
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the file of truths."""
        return asdict(self)
