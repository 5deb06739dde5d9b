"""Keep an entry alive through a pause: send the last request again before its lifetime ends.

The request is the same to the last byte but for its limit of output, so it reads everything and writes nothing. How
often, how long and whether at all is what the variants differ in.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.money import PICODOLLARS
from agentsim.core.session import Request, Session, Usage
from agentsim.rules.prices import RateCard, default_book
from agentsim.whatif.policies.break_even import refreshes_worth
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import LONG, SHORT, from_outside, last_marker, with_requests

RUNNING_STOPS = frozenset({"tool_use", "pause_turn"})
"""Replies after which the agent goes on by itself: a tool runs, and the next request is certain."""


class KeepAlive(Policy, frozen=True, kw_only=True):
    """Refresh the main lane's entry at 90 % of its lifetime, as often as refreshing costs less than one rewrite."""

    name: ClassVar[str] = "keep-alive"
    summary: ClassVar[str] = "Refresh the main lane's entry in pauses, until refreshing would cost more than rewriting."
    assumes: ClassVar[str] = (
        "The harness is closed after the last request: refreshes after it are not counted unless after_last is set."
    )
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Nothing built in: have a timer send a one-word message before the lifetime ends.",
        "pi": "Cache warming is on by default; set its mode to idle to refresh between turns too.",
        "own-code": "Send the last request again with max_tokens 1 at 90 % of the lifetime.",
    }
    stage: ClassVar[int] = 90
    slots: ClassVar[tuple[str, ...]] = ("keep-alive",)
    needs_markers: ClassVar[bool] = True

    fraction: float = 0.9
    """Part of the lifetime after which the entry is refreshed."""
    margin: float = 10
    """Seconds that must be left of the lifetime."""
    most: int = 0
    """Refreshes after one request, at most; 0: as many as cost less than one rewrite."""
    max_running: float = 0
    """Seconds after a request during which it is refreshed while the agent works; 0: no limit."""
    max_idle: float = 0
    """Seconds after a request during which it is refreshed while a person is awaited; 0: no limit."""
    p_running: float = 1
    """Chance that the next request comes in time, while the agent works; with min_saving."""
    p_idle: float = 1
    """The same chance while a person is awaited."""
    min_saving: float = 0
    """Dollars that a refresh must be expected to save."""
    output: int = 1
    """Tokens of output of a refresh."""
    late: float = 0
    """Seconds by which the timer fires late (a machine that sleeps)."""
    hour_only: bool = False
    """Whether only one-hour entries are refreshed."""
    after_last: bool = False
    """Whether refreshes go on after the last request, as in a harness left open."""

    def unsuited(self, session: Session) -> str | None:
        """No refresh would be sent."""
        requests = [r for r in session.requests if self.may_refresh(r)]
        if not requests:
            return "no request of a main lane has a marker that may be refreshed"
        if all(request.start is None for request in requests):
            return "the log tells no times"
        if next(self._refreshes(session), None) is None:
            return "no refresh would be sent: no pause is long enough, or none is worth it"
        return None

    def rewrite(self, session: Session) -> Session:
        """Add the refreshes."""
        return with_requests(session, [*session.requests, *self._refreshes(session)])

    def _refreshes(self, session: Session) -> Iterator[Request]:
        known = [time for r in session.requests for time in (r.start, r.end) if time is not None]
        lanes: dict[str, list[Request]] = {}
        for request in session.requests:
            if not from_outside(request) and request.start is not None:
                lanes.setdefault(request.lane, []).append(request)
        for requests in lanes.values():
            requests.sort(key=lambda request: request.start or 0)
            for request, following in zip(requests, [*requests[1:], None], strict=True):
                if not self.may_refresh(request):
                    continue
                if self.only and (following is None or following.id not in self.only):
                    continue
                until = following.start if following is not None else max(known)
                assert until is not None
                yield from self.refreshes_after(request, None if following is None and self.after_last else until)

    def may_refresh(self, request: Request) -> bool:
        """Whether a request's entry can be refreshed by sending it again."""
        prompt = request.prompt
        if request.purpose != "main" or prompt is None or from_outside(request):
            return False
        last = last_marker(prompt)
        if last is None or (self.hour_only and last.ttl < LONG):
            return False
        # A cap of one token changes a thinking budget, and with it the key.
        return not any(name == "thinking" and "budget_tokens" in value for name, value in request.settings)

    def refreshes_after(self, request: Request, until: int | None) -> Iterator[Request]:
        """The refreshes that follow a request which may be refreshed, one after the other, before ``until``
        (nanoseconds, UTC; ``None``: as long as the policy goes on). Each is decided when it is asked for."""
        prompt, started = request.prompt, request.start
        assert prompt is not None
        assert started is not None
        last = last_marker(prompt)
        assert last is not None
        ttl = last.ttl
        delay = int(min(self.fraction * ttl, ttl - self.margin))
        if delay <= 0 or self.late > (ttl - delay) // 2:  # too late to be of use: the entry may be gone
            return
        card = default_book().card_for(request, Usage(read=prompt.tokens))
        most = self.most or self._worth(card, ttl)
        settled = request.end if request.stop_reason not in RUNNING_STOPS else None
        now = started
        for number in range(1, most + 1):
            due = now + delay * SECOND
            idle = settled is not None and due >= settled
            limit = self.max_idle if idle else self.max_running
            now = due + int(self.late * SECOND)
            if limit and due > started + int(limit * SECOND):
                return
            if (until is not None and now >= until) or not self._pays(prompt.tokens, card, idle):
                return
            yield msgspec.structs.replace(
                request,
                id=f"{request.id}/keep-alive-{number}",
                parent=request.id,
                purpose="keep_alive",
                start=now,
                first_token=now + SECOND,
                end=now + SECOND,
                usage=Usage(output=self.output),
                iterations=(),
                stop_reason="max_tokens",
            )

    def _worth(self, card: RateCard | None, ttl: int) -> int:
        if card is None:
            return 11 if ttl <= SHORT else 19
        return refreshes_worth(card, hour=ttl > SHORT)

    def _pays(self, tokens: int, card: RateCard | None, idle: bool) -> bool:
        """Whether a refresh is expected to save enough, the way harnesses reckon: the five-minute price of a write."""
        if not self.min_saving:
            return True
        if card is None or card.read is None:
            return False
        hit = tokens * card.read
        miss = tokens * (card.fresh if card.write_short is None else card.write_short)
        chance = Fraction(str(self.p_idle if idle else self.p_running))
        expected = chance * max(0, miss - hit) - (hit + self.output * card.output)
        return expected >= Fraction(str(self.min_saving)) * PICODOLLARS
