"""Lifetimes by lane: what a subagent writes is read at once or never."""

from __future__ import annotations

from typing import ClassVar, Literal

from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import LONG, SHORT, changed, each, from_outside, other_lifetimes

Lifetime = Literal["as-is", "5m", "1h"]

_SECONDS = {"5m": SHORT, "1h": LONG}


class TtlLanes(Policy, frozen=True, kw_only=True):
    """Main lanes and all others get lifetimes of their own."""

    name: ClassVar[str] = "ttl-lanes"
    summary: ClassVar[str] = "Lifetimes by lane: five minutes for subagents and helpers, the main lane as it is."
    assumes: ClassVar[str] = (
        "Subagents work without pauses of more than five minutes; where they paused, that is counted."
    )
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set subagentPromptCacheTtl (or an agent's own cacheTtl) to 5m.",
        "pi": "Start child sessions with short cache retention.",
        "own-code": "Pass the lifetime of cache_control by kind of request; do not hand the parent's down.",
    }
    stage: ClassVar[int] = 70
    slots: ClassVar[tuple[str, ...]] = ("ttl",)
    needs_markers: ClassVar[bool] = True

    main: Lifetime = "as-is"
    """Lifetime of what main lanes write: as-is, 5m or 1h."""
    children: Lifetime = "5m"
    """Lifetime of what all other lanes write: as-is, 5m or 1h."""

    def unsuited(self, session: Session) -> str | None:
        """There are no lanes but the main one, or all lifetimes are what they would be."""
        touched = [r for r in session.requests if not from_outside(r) and r.prompt is not None]
        mains = _main_lanes(session)
        if self.main == "as-is" and all(request.lane in mains for request in touched):
            return "there are no subagents"
        if (other := other_lifetimes(session)) is not None:
            return other
        if self.name != "ttl-lanes" and all(request.lane in mains for request in touched):
            return "there are no subagents: ttl-5m and ttl-1h are the same"
        if all(self._changed(request, mains) is request for request in touched):
            return "every marker has that lifetime already"
        return None

    def rewrite(self, session: Session) -> Session:
        """Give the markers of each lane its lifetime."""
        mains = _main_lanes(session)
        return each(session, lambda request: self._changed(request, mains))

    def _changed(self, request: Request, mains: frozenset[str]) -> Request:
        assert request.prompt is not None
        seconds = _SECONDS.get(self.main if request.lane in mains else self.children)
        markers = request.prompt.breakpoints
        if seconds is None or not self.wants(request) or all(marker.ttl == seconds for marker in markers):
            return request
        return changed(request, request.prompt.with_breakpoints([Breakpoint(m.position, seconds) for m in markers]))


def _main_lanes(session: Session) -> frozenset[str]:
    """Lanes with requests of a main conversation: a summary or a refresh there asks for the lifetimes of that lane."""
    return frozenset(request.lane for request in session.requests if request.purpose == "main")


class TtlMainHour(TtlLanes, frozen=True, kw_only=True):
    """The main conversation is paused by a person, its children are not."""

    name: ClassVar[str] = "ttl-main-1h"
    summary: ClassVar[str] = "One hour for the main lane, whose pauses are a person's, five minutes for all others."
    how: ClassVar[dict[str, str]] = {
        "claude-code": 'Set promptCacheTtl to "1h" and subagentPromptCacheTtl to "5m".',
        "pi": "Set the cache retention to long, and start child sessions with a short one.",
        "own-code": "Pass the lifetime of cache_control by kind of request.",
    }

    main: Lifetime = "1h"
    """Lifetime of what main lanes write: as-is, 5m or 1h."""
    children: Lifetime = "5m"
    """Lifetime of what all other lanes write: as-is, 5m or 1h."""


class TtlChildrenHour(TtlLanes, frozen=True, kw_only=True):
    """Children that wait long for their tools, under a main conversation that nobody pauses."""

    name: ClassVar[str] = "ttl-children-1h"
    summary: ClassVar[str] = "Five minutes for the main lane, one hour for all others, whose tools are slow."
    assumes: ClassVar[str] = "Requests come when they came; nothing else keeps the main lane's entries alive."
    how: ClassVar[dict[str, str]] = {
        "claude-code": 'Set promptCacheTtl to "5m" and subagentPromptCacheTtl to "1h".',
        "pi": "Set the cache retention to short, and start child sessions with a long one.",
        "own-code": "Pass the lifetime of cache_control by kind of request.",
    }

    main: Lifetime = "5m"
    """Lifetime of what main lanes write: as-is, 5m or 1h."""
    children: Lifetime = "1h"
    """Lifetime of what all other lanes write: as-is, 5m or 1h."""
