"""A fan-out goes out in two steps: one request first, the others when its entry can be read."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.marker_common import marked
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import with_requests
from agentsim.whatif.policies.shared_front import readable, siblings


class StaggerFanOut(Policy, frozen=True, kw_only=True):
    """The first of several requests that share a front is sent alone; the others wait until its answer begins."""

    name: ClassVar[str] = "stagger-fan-out"
    summary: ClassVar[str] = "Mark what a fan-out shares, send one request, and the others when its answer begins."
    assumes: ClassVar[str] = "The others can wait for the first one's first token, and share that front to the byte."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Workflows wait up to CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS for the first answer to begin.",
        "pi": "Start the first child session, and the others when it streams.",
        "own-code": "Put cache_control at the end of the shared part, await one stream's first event, send the rest.",
    }
    stage: ClassVar[int] = 50
    slots: ClassVar[tuple[str, ...]] = ("fan-out",)
    needs_bodies: ClassVar[bool] = True

    mark: bool = True
    """Whether the end of the common front is marked as well."""
    limit: float = 60
    """Seconds that the others wait at most."""

    def unsuited(self, session: Session) -> str | None:
        """Nothing is sent together."""
        return None if siblings(session) else "no requests that share a front are sent together"

    def rewrite(self, session: Session) -> Session:
        """Mark the common fronts, and move lanes whose first request waits."""
        delays: dict[str, int] = {}
        moments: dict[str, int] = {}
        for sibling in siblings(session):
            request = sibling.request
            if not self.wants(request) or request.start is None:
                continue
            wait = min(readable(sibling.leader) - request.start, int(self.limit * SECOND))
            if wait > delays.get(request.lane, 0):
                delays[request.lane] = wait
            moments.setdefault(request.lane, request.start)
        if self.mark:
            session = marked(session, self.only)
        requests = [
            _later(request, delays[request.lane])
            if request.lane in delays and request.start is not None and request.start >= moments[request.lane]
            else request
            for request in session.requests
        ]
        return with_requests(session, requests)


def _later(request: Request, wait: int) -> Request:
    """The request, that much later."""
    times = {
        name: None if value is None else value + wait
        for name, value in (("start", request.start), ("first_token", request.first_token), ("end", request.end))
    }
    return msgspec.structs.replace(request, **times)
