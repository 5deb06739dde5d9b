"""A marker on the last block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from agentsim.core.session import Request
from agentsim.whatif.policies.marker_places import AddedMarkers


class MarkerLast(AddedMarkers, frozen=True, kw_only=True):
    """The whole prompt becomes readable by the next turn."""

    name: ClassVar[str] = "marker-last"
    summary: ClassVar[str] = "A marker on the last block of the prompt, so that the next turn can read all of it."
    assumes: ClassVar[str] = "The next turn keeps the prompt and adds to it."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Built in.",
        "pi": "Built in.",
        "own-code": "Put cache_control on the last block of the last message (a tool result too), or at the top level.",
    }

    def places(self, request: Request, parent: Request | None) -> Iterable[int]:
        """The last block."""
        assert request.prompt is not None
        return [len(request.prompt) - 1]
