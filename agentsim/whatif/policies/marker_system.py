"""A marker at the end of the system text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from agentsim.core.session import Request
from agentsim.whatif.policies.marker_places import AddedMarkers


class MarkerSystem(AddedMarkers, frozen=True, kw_only=True):
    """Tools and system become readable by whoever shares them, whatever happens to the messages."""

    name: ClassVar[str] = "marker-system"
    summary: ClassVar[str] = "A marker at the end of the system text, so that tools and system are kept on their own."
    assumes: ClassVar[str] = "A marker has no price of its own."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Built in.",
        "pi": "Built in.",
        "own-code": "Put cache_control on the last system block.",
    }

    tools: bool = False
    """Whether the last tool gets one as well."""

    def places(self, request: Request, parent: Request | None) -> Iterable[int]:
        """The last block of system (and of tools)."""
        prompt = request.prompt
        assert prompt is not None
        system = prompt.section_end("system")
        places = [system - 1] if system else []
        if self.tools and (tools := prompt.section_end("tools")):
            places.append(tools - 1)
        return places
