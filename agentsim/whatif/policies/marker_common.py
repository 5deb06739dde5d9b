"""A marker at the end of what a fan-out shares."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.session import Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import with_markers
from agentsim.whatif.policies.shared_front import siblings


class MarkerCommon(Policy, frozen=True, kw_only=True):
    """Siblings of a fan-out mark the end of their common front."""

    name: ClassVar[str] = "marker-common"
    summary: ClassVar[str] = "A marker at the end of what the requests of a fan-out share. Alone it does not wait."
    assumes: ClassVar[str] = "The siblings share that front to the byte. Sent together, they still cannot read it."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not yours to place; put what subagents share into files of the project context.",
        "pi": "Not yours to place.",
        "own-code": "Give what the siblings share a block of its own, and put cache_control on it.",
    }
    stage: ClassVar[int] = 60
    slots: ClassVar[tuple[str, ...]] = ("fan-out",)
    needs_bodies: ClassVar[bool] = True
    needs_markers: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """Nothing is sent together."""
        return None if siblings(session) else "no requests that share a front are sent together"

    def rewrite(self, session: Session) -> Session:
        """Mark the common fronts."""
        return marked(session, self.only)


def marked(session: Session, only: tuple[str, ...] = ()) -> Session:
    """The session with a marker at the end of the front that siblings share, in each of them."""
    places: dict[str, set[int]] = {}
    for sibling in siblings(session):
        if not only or sibling.request.id in only:
            for request in (sibling.leader, sibling.request):
                places.setdefault(request.id, set()).add(sibling.shared - 1)
    requests = tuple(
        with_markers(request, places[request.id]) if request.id in places and request.prompt is not None else request
        for request in session.requests
    )
    return msgspec.structs.replace(session, requests=requests)
