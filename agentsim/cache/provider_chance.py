"""What is chance at a provider: which of its caches answers, and what it drops early. Off unless this is asked for.

A provider has several caches that know nothing of each other. A conversation has one of them as its home; it leaves it
when it was idle too long, by bad luck, and for single requests when it sends too many a minute. And a cache may have
dropped the history of a conversation that returns after a pause, although its lifetime had not ended; tools and system
text survive that. How often, say the rules (``route_*`` and ``early_loss``): most of those figures are observed, or
assumed. The same seed draws the same lots, whatever else is simulated beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from agentsim.cache import CacheBackend, CacheLookup, Served
from agentsim.cache.prompt_cache import ArrivalOrder, as_reported, unknown
from agentsim.cache.rules_in_force import RulesInForce, by_model
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules

MINUTE = 60 * SECOND

SESSION_SETTINGS = ("session_id", "prompt_cache_key")
"""Settings that name a conversation, the first one that is there."""


class _Conversation(msgspec.Struct, frozen=True):
    """A conversation: how many requests it had, its home, when each cache last answered it, and its requests of the
    last minute."""

    count: int
    home: int
    used: tuple[tuple[int, int], ...] = ()
    recent: tuple[int, ...] = ()


class _Lots(msgspec.Struct, frozen=True):
    """What was drawn for a request: the cache that answers, of how many, and its conversation from then on."""

    host: int
    hosts: int
    name: bytes
    after: _Conversation
    inner: CacheLookup


class SpillingProvider(CacheBackend):
    """A :class:`agentsim.cache.CacheBackend` over several caches, each made by ``make``.

    ``rules`` apply to every request; without them each request gets those of its own model and time. Deterministic: a
    lot depends on ``seed``, the conversation, and how many requests it had.
    """

    def __init__(self, make: Callable[[], CacheBackend], seed: int, rules: ProviderRules | None = None) -> None:
        self._make = make
        self._seed = seed
        self._rules = RulesInForce(rules, by_model)
        self._hosts: dict[int, CacheBackend] = {}
        self._conversations: dict[bytes, _Conversation] = {}
        self._order = ArrivalOrder()

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """See :meth:`agentsim.cache.CacheBackend.look_up`. The lots of a request are the same however often it is
        looked up."""
        prompt = request.prompt
        if prompt is None:
            return unknown(request, now)
        rules = self._rules.of(request, now)
        name = _conversation(request, prompt)
        host, after, lost = self._draw(name, rules, now)
        left = min(len(prompt) if keep is None else keep, prompt.section_end("system")) if lost else keep
        inner = self._host(host).look_up(request, now, keep=left)
        return msgspec.structs.replace(
            inner,
            host=f"host {host}" if rules.route_hosts > 1 else inner.host,
            keep=keep,
            version=self._order.version,
            found=_Lots(host, rules.route_hosts, name, after, inner),
        )

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.commit`."""
        if lookup.request.prompt is None:
            return as_reported(lookup.request)
        lots: _Lots = lookup.found
        self._order.advance(lookup)
        if lookup.keep is not None:
            for number, host in self._hosts.items():
                if number != lots.host:
                    host.evict(lookup.request, lookup.keep, lookup.now)
        served = self._host(lots.host).commit(lots.inner, first_token=first_token, end=end)
        self._conversations[lots.name] = lots.after
        return msgspec.structs.replace(served, host=lookup.host) if lots.hosts > 1 else served

    def evict(self, request: Request, keep: int, now: int) -> None:
        """See :meth:`agentsim.cache.CacheBackend.evict`: every one of the caches loses it."""
        self._order.changed()
        for host in self._hosts.values():
            host.evict(request, keep, now)

    def _host(self, number: int) -> CacheBackend:
        found = self._hosts.get(number)
        if found is None:
            found = self._hosts[number] = self._make()
        return found

    def _draw(self, name: bytes, rules: ProviderRules, now: int) -> tuple[int, _Conversation, bool]:
        """The cache that answers the next request of a conversation, the conversation after it, and whether that cache
        dropped its history before. Changes nothing."""
        before = self._conversations.get(name)
        if before is None:
            home = self._lot(name, 0, "home") % rules.route_hosts
            return home, _Conversation(0, home, ((home, now),)), False
        hosts, count, home = rules.route_hosts, before.count + 1, before.home
        used = dict(before.used)
        idle = now - max(used.values())
        if hosts > 1 and rules.route_sticky and idle > rules.route_sticky * SECOND:
            home = self._lot(name, count, "again") % hosts
        elif hosts > 1 and self._happens(name, count, "switch", rules.route_switch):
            home = (home + 1 + self._lot(name, count, "where") % (hosts - 1)) % hosts
        recent = (*(time for time in before.recent if time > now - MINUTE), now)
        host = home
        if rules.route_per_minute and len(recent) > rules.route_per_minute:
            host = (home + (len(recent) - 1) // rules.route_per_minute) % hosts
        lost = self._lost(used.get(host), name, count, rules, now)
        used[host] = now
        return host, _Conversation(count, home, tuple(used.items()), recent), lost

    def _lost(self, last: int | None, name: bytes, count: int, rules: ProviderRules, now: int) -> bool:
        """Whether a cache that answered a conversation at ``last`` dropped its history since."""
        if last is None or last == now:
            return False
        percent = 0
        for seconds, share in rules.early_loss:
            if now - last >= seconds * SECOND:
                percent = share
        return self._happens(name, count, "lost", percent)

    def _happens(self, name: bytes, count: int, what: str, percent: int) -> bool:
        return percent > 0 and self._lot(name, count, what) % 100 < percent

    def _lot(self, name: bytes, count: int, what: str) -> int:
        text = f"{self._seed} {what} {count} ".encode()
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
