"""The best places for at most four markers, found by trying them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import msgspec

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import scan
from agentsim.core.session import Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import SHORT, from_outside, in_order, profile_of, rules_of, with_parents
from agentsim.whatif.policies.shared_front import siblings

PLACES = ("last", "system", "tools", "previous", "next", "lookback", "common")
"""Where a marker may stand: the last block, the ends of two sections, where the request shares its front with the one
before or after it, one lookback before the last block, and the end of what lanes share."""


class MarkerBest(Policy, frozen=True, kw_only=True):
    """Markers where the bill is lowest: of all choices of at most four places the cheapest over all sessions."""

    name: ClassVar[str] = "marker-best"
    summary: ClassVar[str] = "The cheapest choice of at most four places for markers, found by trying them."
    assumes: ClassVar[str] = "The choice is made knowing what came later; the same rule is used for every request."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not yours to place.",
        "pi": "Not yours to place.",
        "own-code": "Put cache_control at the places named, on every request.",
    }
    stage: ClassVar[int] = 65
    slots: ClassVar[tuple[str, ...]] = ("markers",)
    needs_markers: ClassVar[bool] = True
    needs_blocks: ClassVar[bool] = True

    most: int = 4
    """Markers of a request, at most."""
    places: str = ""
    """Joined by "+" (last, system, tools, previous, next, lookback, common); empty: found by trying."""

    def unsuited(self, session: Session) -> str | None:
        """None of the places is known."""
        unknown = [name for name in self._named() if name not in PLACES]
        return f"no place is called {unknown[0][:40]!r}: there are {', '.join(PLACES)}" if unknown else None

    def fitted(self, sessions: Sequence[Session]) -> MarkerBest:
        """The policy with the places that are best in all these sessions together."""
        fit = [session for session in sessions if self.applies(session) is None]
        return self if self.places or not fit else msgspec.structs.replace(self, places="+".join(self._found(fit)))

    def resolved(self, session: Session) -> MarkerBest:
        """The policy with the places it finds best."""
        return self.fitted([session])

    def rewrite(self, session: Session) -> Session:
        """The session with the best markers found."""
        return self._placed(session, _ways(session), self._named() or self._found([session]))

    def _named(self) -> list[str]:
        return self.places.split("+") if self.places else []

    def _found(self, sessions: Sequence[Session]) -> list[str]:
        """The best places: of all choices of so many the cheapest, without those that save nothing."""
        ways = [_ways(session) for session in sessions]
        known = [name for name in PLACES if any(name in each for each in ways)]
        bills: dict[tuple[int, tuple[str, ...]], int] = {}  # of a session, by those of the places that it has

        def bill(names: Sequence[str]) -> int:
            total = 0
            for number, (session, own) in enumerate(zip(sessions, ways, strict=True)):
                key = number, tuple(name for name in names if name in own)
                if key not in bills:
                    bills[key] = self._bill(self._placed(session, own, names))
                total += bills[key]
            return total

        choices = list(combinations(known, min(self.most, len(known))))
        costs = [bill(names) for names in choices]
        lowest = min(costs)
        chosen = list(choices[costs.index(lowest)])
        for name in reversed(tuple(chosen)):
            fewer = [other for other in chosen if other != name]
            found = bill(fewer)
            if found <= lowest:
                chosen, lowest = fewer, found
        return chosen

    def _placed(self, session: Session, ways: dict[str, dict[str, int]], chosen: Sequence[str]) -> Session:
        requests = []
        for request in session.requests:
            prompt = request.prompt
            if prompt is None or from_outside(request):
                requests.append(request)
                continue
            ttl = max((marker.ttl for marker in prompt.breakpoints), default=SHORT)
            places = {ways[name][request.id]: ttl for name in chosen if request.id in ways.get(name, ())}
            requests.append(msgspec.structs.replace(request, prompt=prompt.with_breakpoints(in_order(places))))
        return msgspec.structs.replace(session, requests=tuple(requests))

    def _bill(self, session: Session) -> int:
        """Input at the ratios of a bill: what is written, read and fresh, in hundredths of a token."""
        bill = 0
        for row in scan(session, RoutedProvider(profile=profile_of(session)), price=False).rows:
            if row.request.counted:
                usage = row.usage
                bill += 100 * (usage.fresh or 0) + 125 * (usage.write_short or 0) + 200 * (usage.write_long or 0)
                bill += 10 * (usage.read or 0)
        return bill


def _ways(session: Session) -> dict[str, dict[str, int]]:
    """Ways to place one marker: by name, the position in each request that has such a place."""
    ways: dict[str, dict[str, int]] = {name: {} for name in PLACES}
    common = ways["common"]
    firsts: dict[bytes, str] = {}
    lanes: set[str] = set()
    for request, parent in with_parents(session):
        prompt = request.prompt
        if prompt is None or from_outside(request) or not len(prompt):
            continue
        ways["last"][request.id] = ways["next"][request.id] = len(prompt) - 1  # "next" until a next one is seen
        ways["lookback"][request.id] = max(len(prompt) - 1 - rules_of(request).lookback, 0)
        for section in ("system", "tools"):
            end = prompt.section_end("system" if section == "system" else "tools")
            if end:
                ways[section][request.id] = end - 1
        if parent is not None and parent.prompt is not None:
            shared = parent.prompt.common_length(prompt)
            if shared:
                ways["previous"][request.id] = ways["next"][parent.id] = shared - 1
        if request.lane not in lanes:  # a lane that begins may share its front with one that began before
            lanes.add(request.lane)
            chains = [prompt.chain(length) for length in range(1, len(prompt) + 1)]
            length = next((n for n in range(len(chains), 0, -1) if chains[n - 1] in firsts), 0)
            if length:
                common[request.id] = common[firsts[chains[length - 1]]] = length - 1
            firsts.update(dict.fromkeys(chains, request.id))
    for sibling in siblings(session):
        common[sibling.request.id] = common[sibling.leader.id] = sibling.shared - 1
    return {name: places for name, places in ways.items() if places}
