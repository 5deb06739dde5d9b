"""The head of a prompt lives long, its tail short."""

from __future__ import annotations

from typing import ClassVar

from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import LONG, SHORT, changed, each, from_outside, other_lifetimes


class TtlSplit(Policy, frozen=True, kw_only=True):
    """One hour for tools and system, five minutes for what changes with every turn."""

    name: ClassVar[str] = "ttl-split"
    summary: ClassVar[str] = "One hour for tools and system, five minutes for the conversation behind them."
    assumes: ClassVar[str] = "A marker ends the system text; only the head has to survive longer pauses."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not offered: a session has one lifetime.",
        "pi": "Not offered: the retention holds for a whole request.",
        "own-code": 'Write "ttl": "1h" in the markers of tools and system, leave it out of the later ones.',
    }
    stage: ClassVar[int] = 70
    slots: ClassVar[tuple[str, ...]] = ("ttl",)
    needs_markers: ClassVar[bool] = True
    needs_bodies: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """No head has a marker, or the lifetimes are split already."""
        touched = [r for r in session.requests if not from_outside(r) and r.prompt is not None]
        if not any(
            request.prompt is not None
            and any(request.prompt[marker.position].section != "messages" for marker in request.prompt.breakpoints)
            for request in touched
        ):
            return "no marker stands in tools or system"
        if (other := other_lifetimes(session)) is not None:
            return other
        if all(self._split(request) is request for request in touched):
            return "the lifetimes are split already"
        return None

    def rewrite(self, session: Session) -> Session:
        """Give each marker the lifetime of its section."""
        return each(session, self._split)

    def _split(self, request: Request) -> Request:
        prompt = request.prompt
        assert prompt is not None
        if not self.wants(request):
            return request
        markers = tuple(
            Breakpoint(marker.position, SHORT if prompt[marker.position].section == "messages" else LONG)
            for marker in prompt.breakpoints
        )
        return request if markers == prompt.breakpoints else changed(request, prompt.with_breakpoints(markers))
