"""A marker where the previous request ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from agentsim.core.session import Request
from agentsim.whatif.policies.marker_places import AddedMarkers
from agentsim.whatif.policies.session_rewriting import last_marker


class MarkerPrevious(AddedMarkers, frozen=True, kw_only=True):
    """The entry of the request before is found even when more blocks were added than the lookback spans."""

    name: ClassVar[str] = "marker-previous"
    summary: ClassVar[str] = "A second marker where the previous request ended, so that its entry is always found."
    assumes: ClassVar[str] = "The markers in place leave one of the four free; else the middle one gives way."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not yours to place; add fewer blocks in one turn.",
        "pi": "Not yours to place; add fewer blocks in one turn.",
        "own-code": "Keep cache_control on the block that ended the last request for one more request.",
    }

    def places(self, request: Request, parent: Request | None) -> Iterable[int]:
        """The last marked block of the parent, where this prompt still has all that stands before it."""
        last = last_marker(parent.prompt) if parent is not None and parent.prompt is not None else None
        if last is None or parent is None or parent.prompt is None or request.prompt is None:
            return []
        length = last.position + 1
        if length > len(request.prompt) or request.prompt.chain(length) != parent.prompt.chain(length):
            return []
        return [length - 1]
