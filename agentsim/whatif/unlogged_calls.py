"""Calls that no log shows: what they kept is read later. A policy changes them as it changes their lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.whatif.world_facts import Fact

UNLOGGED = "/unlogged"
"""What the id of a call ends with that no log shows; before it stands the id of the request that shows it."""

_MOST_MARKERS = 4


def unlogged_call(request: Request, parent: Request, prompt: Prompt) -> Request:
    """A call right after the reply of ``parent``; ``request`` read what it kept. It is in no total."""
    replied = parent.end if parent.end is not None else parent.start
    moment = replied if replied is None or request.start is None else min(replied, request.start)
    return Request(
        id=request.id + UNLOGGED,
        lane=request.lane,
        parent=parent.id,
        model=parent.model,
        provider=request.provider,
        start=moment,
        first_token=moment,
        end=moment,
        purpose=request.purpose,
        prompt=prompt,
        usage=Usage(output=0),
        stop_reason=parent.stop_reason,
        host=parent.host,
        account=parent.account,
        counted=False,
    )


def with_unlogged_calls(session: Session, facts: Mapping[str, Sequence[Fact]]) -> Session:
    """The session with the calls that its reads show: a request read beyond what the one that it grew from had sent,
    and nobody else can have written that. The session itself where there are none."""
    known: dict[str, Request] = {}
    lanes: dict[str, Request] = {}
    requests: list[Request] = []
    for request in session.requests:
        parent = known.get(request.parent or "") or lanes.get(request.lane)
        front = _sent_by_nobody(request, parent, facts.get(request.id, ()))
        if front is not None and parent is not None:
            call = unlogged_call(request, parent, front)
            requests.append(msgspec.structs.replace(call, settings=parent.settings))
            request = msgspec.structs.replace(request, parent=call.id)
        requests.append(request)
        known[request.id] = lanes[request.lane] = request
    if len(requests) == len(session.requests):
        return session
    return msgspec.structs.replace(session, requests=tuple(requests))


def _sent_by_nobody(request: Request, parent: Request | None, facts: Sequence[Fact]) -> Prompt | None:
    """The front of a prompt that its conversation had sent in no logged request, with the markers of the one before."""
    before = None if parent is None else parent.prompt
    if parent is None or before is None or not before.breakpoints or request.prompt is None:
        return None
    lengths = [fact.length for fact in facts if fact.kind == "outside"]
    if not lengths or parent.model != request.model or lengths[0] <= len(before):
        return None
    if before.common_length(request.prompt) < len(before):
        return None
    last = Breakpoint(lengths[0] - 1, before.breakpoints[-1].ttl)
    return request.prompt.front(lengths[0], [*before.breakpoints[1 - _MOST_MARKERS :], last])
