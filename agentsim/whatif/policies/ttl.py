"""One lifetime for every marker."""

from __future__ import annotations

from typing import ClassVar

from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import LONG, SHORT, changed, each, from_outside, other_lifetimes


class _OneLifetime(Policy, frozen=True, kw_only=True):
    """All markers live equally long."""

    seconds: ClassVar[int] = SHORT
    stage: ClassVar[int] = 70
    slots: ClassVar[tuple[str, ...]] = ("ttl",)
    needs_markers: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """Every marker has that lifetime already, or there is none."""
        markers = [
            marker
            for request in session.requests
            if request.prompt is not None and not from_outside(request)
            for marker in request.prompt.breakpoints
        ]
        if not markers:
            return "no request has a marker"
        if (other := other_lifetimes(session)) is not None:
            return other
        if all(marker.ttl == self.seconds for marker in markers):
            return f"every marker lives {self.seconds:,} s already"
        return None

    def rewrite(self, session: Session) -> Session:
        """Give every marker the lifetime."""
        return each(session, self._with_lifetime)

    def _with_lifetime(self, request: Request) -> Request:
        assert request.prompt is not None
        if not self.wants(request):
            return request
        markers = [Breakpoint(marker.position, self.seconds) for marker in request.prompt.breakpoints]
        return changed(request, request.prompt.with_breakpoints(markers))


class FiveMinutes(_OneLifetime, frozen=True, kw_only=True):
    """Every marker lives five minutes: the cheapest write."""

    name: ClassVar[str] = "ttl-5m"
    summary: ClassVar[str] = "Every entry lives five minutes: the cheapest write, lost in longer pauses."
    assumes: ClassVar[str] = "Requests come when they came; nothing else keeps the entries alive in longer pauses."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set FORCE_PROMPT_CACHING_5M=1, or promptCacheTtl in the settings.",
        "pi": "Set the cache retention to short.",
        "own-code": "Leave ttl out of cache_control, or set it to 5m.",
    }


class OneHour(_OneLifetime, frozen=True, kw_only=True):
    """Every marker lives one hour: the dearest write."""

    name: ClassVar[str] = "ttl-1h"
    summary: ClassVar[str] = "Every entry lives one hour: writes cost more, pauses up to an hour cost nothing."
    assumes: ClassVar[str] = "Entries survive the whole hour; logs show some that were dropped earlier."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set ENABLE_PROMPT_CACHING_1H=1, or promptCacheTtl in the settings.",
        "pi": "Set the cache retention to long.",
        "own-code": 'Write "ttl": "1h" in every cache_control.',
    }
    seconds: ClassVar[int] = LONG
