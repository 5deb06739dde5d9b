"""What is chance at a provider: which of its caches answers, and what it drops early. Off unless this is asked for.

A provider has several caches that know nothing of each other. A conversation has one of them as its home; it leaves it
when it was idle too long, by bad luck, and for single requests when it sends too many a minute. And a cache may have
dropped the history of a conversation that returns after a pause, although its lifetime had not ended; tools and system
text survive that. How often, say the rules (``route_*`` and ``early_loss``): most of those figures are observed, or
assumed. The same seed draws the same lots, whatever else is simulated beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Protocol

import msgspec

from agentsim.cache import CacheBackend, Served
from agentsim.cache.rules_in_force import RulesInForce, by_model
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules

SECOND = 10**9
MINUTE = 60 * SECOND

SESSION_SETTINGS = ("session_id", "prompt_cache_key")
"""Settings that name a conversation, the first one that is there."""


class ForgetfulBackend(CacheBackend, Protocol):
    """A backend that can be made to lose something early."""

    def forget(self, request: Request, keep: int, now: int) -> None:
        """Lose what is kept of a request's prompt behind its first ``keep`` blocks."""
        ...

    def would_read(self, request: Request, now: int) -> int:
        """Tokens of the prompt that would be read at ``now``. Changes nothing."""
        ...


class _Talk:
    """A conversation: its home, when it was last answered there, and its requests of the last minute. Mutable."""

    __slots__ = ("home", "recent", "used")

    def __init__(self, home: int, now: int) -> None:
        self.home = home
        self.used: dict[int, int] = {}
        self.recent: deque[int] = deque()
        self.used[home] = now


class SpillingProvider:
    """A :class:`agentsim.cache.CacheBackend` over several caches, each made by ``make``.

    ``rules`` apply to every request; without them each request gets those of its own model and time. Deterministic: a
    lot depends on ``seed``, the conversation, and how many requests it had.
    """

    def __init__(self, make: Callable[[], ForgetfulBackend], seed: int, rules: ProviderRules | None = None) -> None:
        self._make = make
        self._seed = seed
        self._rules = RulesInForce(rules, by_model)
        self._hosts: dict[int, ForgetfulBackend] = {}
        self._talks: dict[bytes, _Talk] = {}
        self._counts: dict[bytes, int] = {}
        self._drawn: tuple[str, int, int, int] | None = None
        """Request, time, host and number of hosts of the lots drawn last: whoever foresees a read draws them."""

    def serve(self, request: Request, now: int) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.serve`."""
        if request.prompt is None:
            return Served(usage=request.usage or Usage())
        host, hosts = self._draw(request, request.prompt, now)
        self._drawn = None
        served = self._hosts[host].serve(request, now)
        return msgspec.structs.replace(served, host=f"host {host}") if hosts > 1 else served

    def would_read(self, request: Request, now: int) -> int:
        """Tokens of the prompt that will be read at ``now``, when the request is served next."""
        if request.prompt is None:
            return 0
        host, _ = self._draw(request, request.prompt, now)
        return self._hosts[host].would_read(request, now)

    def _draw(self, request: Request, prompt: Prompt, now: int) -> tuple[int, int]:
        """Draw the lots of a request, once: which cache answers, of how many, and whether it forgets."""
        if self._drawn is not None and self._drawn[:2] == (request.id, now):
            return self._drawn[2:]
        rules = self._rules.of(request, now)
        name = _conversation(request, prompt)
        self._counts[name] = self._counts.get(name, -1) + 1
        talk = self._talks.get(name)
        if talk is None:
            talk = self._talks[name] = _Talk(self._lot(name, "home") % rules.route_hosts, now)
            host = talk.home
        else:
            host = self._host(talk, name, rules, now)
        backend = self._hosts.get(host)
        if backend is None:
            backend = self._hosts[host] = self._make()
        if self._lost(talk, host, name, rules, now):
            backend.forget(request, prompt.section_end("system"), now)
        talk.used[host] = now
        self._drawn = (request.id, now, host, rules.route_hosts)
        return host, rules.route_hosts

    def _host(self, talk: _Talk, name: bytes, rules: ProviderRules, now: int) -> int:
        """The cache that answers; the home of the conversation may change."""
        hosts = rules.route_hosts
        idle = now - max(talk.used.values())
        if hosts > 1 and rules.route_sticky and idle > rules.route_sticky * SECOND:
            talk.home = self._lot(name, "again") % hosts
        elif hosts > 1 and self._happens(name, "switch", rules.route_switch):
            talk.home = (talk.home + 1 + self._lot(name, "where") % (hosts - 1)) % hosts
        while talk.recent and talk.recent[0] <= now - MINUTE:
            talk.recent.popleft()
        talk.recent.append(now)
        if rules.route_per_minute and len(talk.recent) > rules.route_per_minute:
            return (talk.home + (len(talk.recent) - 1) // rules.route_per_minute) % hosts
        return talk.home

    def _lost(self, talk: _Talk, host: int, name: bytes, rules: ProviderRules, now: int) -> bool:
        """Whether the cache dropped the history of a conversation that it had answered before."""
        last = talk.used.get(host)
        if last is None or last == now:
            return False
        percent = 0
        for seconds, share in rules.early_loss:
            if now - last >= seconds * SECOND:
                percent = share
        return self._happens(name, "lost", percent)

    def _happens(self, name: bytes, what: str, percent: int) -> bool:
        return percent > 0 and self._lot(name, what) % 100 < percent

    def _lot(self, name: bytes, what: str) -> int:
        text = f"{self._seed} {what} {self._counts[name]} ".encode()
        return int.from_bytes(blake2b(text + name, digest_size=8).digest())


def _conversation(request: Request, prompt: Prompt) -> bytes:
    """What tells one conversation from another: a setting that names it, or else its system text and first message."""
    given = dict(request.settings)
    for setting in SESSION_SETTINGS:
        if setting in given:
            return f"{request.model} {setting} {given[setting]}".encode()
    # Tools take no part in it: a conversation that gets another tool stays where it is.
    opening = range(prompt.section_end("tools"), min(prompt.section_end("system") + 1, len(prompt)))
    return request.model.encode() + b"".join(prompt[position].digest for position in opening)
