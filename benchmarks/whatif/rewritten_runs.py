"""Policies that decide what is sent and not what agents do: the same requests, rewritten, at the same provider.

How such a policy rewrites a request is what it is; what is measured is whether its saving was foretold from a log that
shows neither the world nor the calls that nobody wrote down.
"""

from __future__ import annotations

import msgspec

from agentsim.cache.simulate import arrivals_of
from agentsim.core.session import Request
from agentsim.whatif.policies import Policy
from benchmarks.whatif.backtest_sessions import LivedSession, bill
from benchmarks.whatif.backtest_world import BacktestWorld

REWRITTEN: tuple[str, ...] = (
    "marker-system",
    "marker-last",
    "marker-common",
    "marker-spread",
    "marker-best",
    "keep-alive-own",
    "combine-blocks",
    "deferred-tools",
    "deferred-tools-bare",
    "fixed-entries",
    "tool-order",
    "volatile-last",
    "free-tool-choice",
    "pin-effort",
    "pin-thinking",
    "pin-model",
    "prune-batched",
    "prune-at-compaction",
    "compact-later",
    "compact-before-expiry",
    "uncached-one-shots",
)
"""Policies that no setting of the simulated harness has the agents follow."""


def sent_again(lived: LivedSession, policy: Policy | None) -> LivedSession:
    """All that was sent, the calls that no log shows included, as the policy would have it sent."""
    session = lived.session
    if policy is not None and policy.applies(session) is None:
        session = policy.rewrite(session)
    world = BacktestWorld(lived.facts)
    served: list[Request] = []
    for now, request in arrivals_of(session.requests):
        if request.prompt is not None:
            found = world.look_up(request, now)
            usage = world.commit(found, first_token=request.first_token, end=request.end).usage
            request = msgspec.structs.replace(request, usage=usage)
        served.append(request)
    return LivedSession(msgspec.structs.replace(session, requests=tuple(served)), lived.facts)


def paid_again(lived: LivedSession, again: LivedSession, held: tuple[Request, ...]) -> int:
    """What the requests of a log cost when they are sent again, and those that the policy adds."""
    first = min(request.start or 0 for request in held)
    known, mine = {request.id for request in lived.session.requests}, {request.id for request in held}
    return bill(
        [
            request
            for request in again.session.requests
            if request.id in mine or (request.id not in known and (request.start or 0) >= first)
        ]
    )
