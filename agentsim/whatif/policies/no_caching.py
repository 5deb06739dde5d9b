"""No markers at all: is the premium of writing worth it?"""

from __future__ import annotations

from typing import ClassVar

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import changed, each, from_outside


class NoCaching(Policy, frozen=True, kw_only=True):
    """Every token is ordinary input."""

    name: ClassVar[str] = "no-caching"
    summary: ClassVar[str] = (
        "No markers at all: every token is ordinary input. Tells whether caching is worth its premium."
    )
    assumes: ClassVar[str] = "Nothing else depends on the cache: waiting times and rate limits are not counted."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set DISABLE_PROMPT_CACHING=1.",
        "pi": "Set the cache retention to none.",
        "own-code": "Leave out every cache_control.",
    }
    stage: ClassVar[int] = 80
    slots: ClassVar[tuple[str, ...]] = ("markers", "ttl", "keep-alive", "fan-out", "one-shots")
    needs_markers: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """There is no marker."""
        if not any(r.prompt is not None and r.prompt.breakpoints for r in session.requests if not from_outside(r)):
            return "no request has a marker"
        return None

    def rewrite(self, session: Session) -> Session:
        """Take the markers away."""
        return each(session, self._bare)

    def _bare(self, request: Request) -> Request:
        assert request.prompt is not None
        if not request.prompt.breakpoints or not self.wants(request):
            return request
        return changed(request, request.prompt.with_breakpoints(()))
