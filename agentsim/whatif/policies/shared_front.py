"""Requests of different lanes that are sent together and share a front."""

from __future__ import annotations

import msgspec

from agentsim.core.session import Request, Session
from agentsim.whatif.policies.session_rewriting import from_outside, rules_of


class Sibling(msgspec.Struct, frozen=True, kw_only=True):
    """A request, the one sent before it that it could read from, and how many leading blocks they share."""

    request: Request
    leader: Request
    shared: int


def siblings(session: Session) -> list[Sibling]:
    """The requests that shared a front with one whose entry was not readable yet, in order of their start.

    The leader of a group is its first request. A front that is too short to be kept is none.
    """
    found: list[Sibling] = []
    open_leaders: list[Request] = []
    for request in sorted(_timed(session), key=lambda request: request.start or 0):
        start = request.start or 0
        open_leaders = [leader for leader in open_leaders if readable(leader) > start]
        best: Sibling | None = None
        for leader in open_leaders:
            shared = _shared(leader, request)
            if shared and (best is None or shared > best.shared):
                best = Sibling(request=request, leader=leader, shared=shared)
        if best is None:
            open_leaders.append(request)
        else:
            found.append(best)
    return found


def readable(request: Request) -> int:
    """When what a request writes can be read: when its answer begins (nanoseconds, UTC)."""
    start = request.start or 0
    if request.first_token is not None:
        return request.first_token
    assumed = start + rules_of(request).first_token_after * 10**9
    return assumed if request.end is None else min(assumed, request.end)


def _timed(session: Session) -> list[Request]:
    return [
        request
        for request in session.requests
        if request.prompt is not None and request.start is not None and not from_outside(request)
    ]


def _shared(leader: Request, request: Request) -> int:
    if leader.lane == request.lane or (leader.provider, leader.model) != (request.provider, request.model):
        return 0
    assert leader.prompt is not None
    assert request.prompt is not None
    shared = leader.prompt.common_length(request.prompt)
    return shared if request.prompt.tokens_until(shared) >= rules_of(request).minimum else 0
