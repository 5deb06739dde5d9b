"""What the policies that place markers share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import from_outside, with_markers, with_parents


class AddedMarkers(Policy, frozen=True, kw_only=True):
    """A policy that adds markers to the ones that stand."""

    stage: ClassVar[int] = 60
    needs_markers: ClassVar[bool] = True
    needs_blocks: ClassVar[bool] = True

    def places(self, request: Request, parent: Request | None) -> Iterable[int]:
        """The positions at which a request gets a marker."""
        raise NotImplementedError

    def unsuited(self, session: Session) -> str | None:
        """Markers stand there already."""
        return "markers stand there already" if self.rewrite(session) == session else None

    def rewrite(self, session: Session) -> Session:
        """Add the markers."""
        import msgspec

        requests = []
        for request, parent in with_parents(session):
            if request.prompt is None or from_outside(request) or not self.wants(request):
                requests.append(request)
            else:
                requests.append(with_markers(request, self.places(request, parent)))
        return msgspec.structs.replace(session, requests=tuple(requests))
