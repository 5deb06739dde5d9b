"""Which earlier prompt a prompt is best told as a difference to."""

from __future__ import annotations

from typing import NamedTuple

from agentsim.core.prompt import Prompt
from agentsim.core.session import Request


class Origin(NamedTuple):
    """A prompt in terms of an earlier one: the id of that request (``None``: told in full), and how much is kept."""

    request: str | None
    keep: int


class PromptDifferences:
    """Follows the requests of a session in order. Mutable."""

    def __init__(self) -> None:
        self._prompts: dict[str, Prompt] = {}
        self._last_of_lane: dict[str, str] = {}
        self._last: str | None = None

    def follow(self, request: Request) -> Origin:
        """The best origin for this request's prompt, and remember it for those that come.

        Looks at the parent, at the lane's last request and at the last of all; ties go to the first of them. The cost
        is that of the blocks that are not shared.
        """
        prompt = request.prompt
        best = Origin(None, 0)
        if prompt is None:
            return best
        for candidate in (request.parent, self._last_of_lane.get(request.lane), self._last):
            if candidate is None or candidate == best.request or candidate not in self._prompts:
                continue
            keep = self._prompts[candidate].equal_length(prompt)
            if keep > best.keep:
                best = Origin(candidate, keep)
        self._prompts.setdefault(request.id, prompt)
        self._last_of_lane[request.lane] = request.id
        self._last = request.id
        return best
