"""Refreshing as often as a person's own pauses make it worth: one number, from all pauses, also those that never
ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session, Usage
from agentsim.rules.prices import default_book
from agentsim.whatif.policies.keep_alive import KeepAlive
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import SHORT, from_outside, last_marker

MOST = 40
"""Refreshes after one request that are tried."""


class OwnPause(NamedTuple):
    """A pause after a request: seconds (``None``: nobody came back), the lifetime of its entry, and what refreshing
    once costs and a rewrite costs beyond a read, in picodollars."""

    seconds: float | None
    lifetime: int
    refresh: int
    rewrite: int


class KeepAliveOwn(KeepAlive, frozen=True, kw_only=True):
    """The number of refreshes that would have been best over all pauses of these sessions."""

    name: ClassVar[str] = "keep-alive-own"
    summary: ClassVar[str] = "As many refreshes as your own pauses make worth, those that never ended counted."
    assumes: ClassVar[str] = "Later pauses are like these; the harness stays open after its last request."
    origin: ClassVar[str] = ""

    after_last: bool = True
    """Whether refreshes go on after the last request, as in a harness left open."""

    def fitted(self, sessions: Sequence[Session]) -> Policy:
        """The policy with the number that is best over all these sessions."""
        if self.most:
            return self
        return msgspec.structs.replace(self, most=best_number([p for s in sessions for p in self._pauses(s)]))

    def resolved(self, session: Session) -> Policy:
        """The policy with the number that is best in one session."""
        return self.fitted([session])

    def unsuited(self, session: Session) -> str | None:
        """No number of refreshes is worth it."""
        policy = self.resolved(session)
        assert isinstance(policy, KeepAliveOwn)
        if not policy.most:
            return "no refresh is worth it: too few of these pauses end in time"
        return super(KeepAliveOwn, policy).unsuited(session)

    def rewrite(self, session: Session) -> Session:
        """Add the refreshes."""
        policy = self.resolved(session)
        assert isinstance(policy, KeepAliveOwn)
        return super(KeepAliveOwn, policy).rewrite(session) if policy.most else session

    def _pauses(self, session: Session) -> Iterable[OwnPause]:
        lanes: dict[str, list[Request]] = {}
        for request in session.requests:
            if not from_outside(request) and request.start is not None:
                lanes.setdefault(request.lane, []).append(request)
        for requests in lanes.values():
            requests.sort(key=lambda request: request.start or 0)
            for request, following in zip(requests, [*requests[1:], None], strict=True):
                if not self.may_refresh(request):
                    continue
                prompt = request.prompt
                assert prompt is not None
                card = default_book().card_for(request, Usage(read=prompt.tokens))
                marker = last_marker(prompt)
                if card is None or card.read is None or marker is None:
                    continue
                write = card.write_short if marker.ttl <= SHORT else card.write_long
                if write is None:
                    continue
                gap = None if following is None else ((following.start or 0) - (request.start or 0)) / SECOND
                refresh = prompt.tokens * card.read + self.output * card.output
                yield OwnPause(gap, marker.ttl, refresh, prompt.tokens * (write - card.read))


def best_number(pauses: Sequence[OwnPause], fraction: float = 0.9, margin: float = 10) -> int:
    """The number of refreshes after each request that costs least over these pauses; 0 where none is worth it."""
    best, least = 0, 0
    for most in range(1, MOST + 1):
        cost = 0
        for pause in pauses:
            delay = min(fraction * pause.lifetime, pause.lifetime - margin)
            needed = most if pause.seconds is None else min(most, int(pause.seconds // delay))
            cost += needed * pause.refresh
            if pause.seconds is not None and pause.lifetime < pause.seconds <= most * delay + pause.lifetime:
                cost -= pause.rewrite
        if cost < least:
            best, least = most, cost
    return best
