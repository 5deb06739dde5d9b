"""Requests whose prompt nobody sends again need no marker."""

from __future__ import annotations

from typing import ClassVar

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import changed, each, from_outside

ONE_SHOTS = frozenset({"summary", "helper", "probe"})
"""Purposes of requests that stand alone."""


class UncachedOneShots(Policy, frozen=True, kw_only=True):
    """Summaries and helper calls are sent without markers: what they write is never read."""

    name: ClassVar[str] = "uncached-one-shots"
    summary: ClassVar[str] = "No markers on summaries and helper calls, whose entries nobody reads."
    assumes: ClassVar[str] = "Summaries keep their prompts; riding on the conversation's prefix would save more."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Built in for helper calls; summaries read the conversation's prefix.",
        "pi": "Built in: summaries are sent without retention.",
        "own-code": "Leave cache_control out of calls that stand alone.",
    }
    stage: ClassVar[int] = 80
    slots: ClassVar[tuple[str, ...]] = ("one-shots",)
    needs_markers: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """There are no such requests with a marker."""
        if all(self._bare(r) is r for r in session.requests if r.prompt is not None and not from_outside(r)):
            return "no summary or helper call has a marker"
        return None

    def rewrite(self, session: Session) -> Session:
        """Take the markers of such requests away."""
        return each(session, self._bare)

    def _bare(self, request: Request) -> Request:
        assert request.prompt is not None
        if request.purpose not in ONE_SHOTS or not request.prompt.breakpoints or not self.wants(request):
            return request
        return changed(request, request.prompt.with_breakpoints(()))
