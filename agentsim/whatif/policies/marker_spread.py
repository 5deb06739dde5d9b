"""Markers so close that none overlooks an entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from agentsim.core.session import Request
from agentsim.whatif.policies.marker_places import AddedMarkers
from agentsim.whatif.policies.session_rewriting import rules_of


class MarkerSpread(AddedMarkers, frozen=True, kw_only=True):
    """No stretch of new blocks is longer than the lookback."""

    name: ClassVar[str] = "marker-spread"
    summary: ClassVar[str] = "Markers spread over what a turn adds, so that no gap exceeds the lookback."
    assumes: ClassVar[str] = "Three markers span 60 blocks; what a turn adds beyond that is lost all the same."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not yours to place; add fewer blocks in one turn.",
        "pi": "Not yours to place; add fewer blocks in one turn.",
        "own-code": "Walk back from the last block and put cache_control on every 20th, down to the last entry.",
    }

    gap: int = 0
    """Blocks between two markers; 0: the lookback of the provider."""

    def places(self, request: Request, parent: Request | None) -> Iterable[int]:
        """Every so many blocks from the last one down to where the parent ended."""
        prompt = request.prompt
        assert prompt is not None
        rules = rules_of(request)
        step = self.gap or rules.lookback
        start = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
        head = prompt.section_end("system")
        return range(len(prompt) - 1 - step, max(start, head) - 1, -step)
