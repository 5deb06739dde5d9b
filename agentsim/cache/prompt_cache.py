"""What backends that go by prompts alone have in common: who is answered, in which order, and when it can be read."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from agentsim.cache import NOTHING, CacheBackend, CacheLookup, Served
from agentsim.cache.rules_in_force import RulesInForce
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class ArrivalOrder:
    """Commits of a backend, each of which must be of a look-up in the cache as it is, and never of an earlier time."""

    __slots__ = ("_latest", "version")

    def __init__(self) -> None:
        self._latest: int | None = None
        self.version = 0
        """Changes with the cache."""

    def check(self, lookup: CacheLookup) -> None:
        """Raise ValueError for a look-up that may not be committed."""
        if self._latest is not None and lookup.now < self._latest:
            raise ValueError("requests must be served in the order of their start")
        if lookup.version != self.version:
            raise ValueError("the cache has changed since this look-up")

    def advance(self, lookup: CacheLookup) -> None:
        """A look-up is committed. Raises ValueError for one that may not be."""
        self.check(lookup)
        self._latest = lookup.now
        self.version += 1

    def changed(self) -> None:
        """The cache changed without a request."""
        self.version += 1


class PromptCache(CacheBackend):
    """A :class:`agentsim.cache.CacheBackend` whose cache is asked for each prompt, never for an earlier time."""

    def __init__(self) -> None:
        self._order = ArrivalOrder()

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """See :meth:`agentsim.cache.CacheBackend.look_up`."""
        prompt = request.prompt
        if prompt is None:
            return unknown(request, now)
        return self._look_up(request, prompt, now, keep)

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.commit`."""
        prompt = lookup.request.prompt
        if prompt is None:
            return as_reported(lookup.request)
        if lookup.rejected is not None:
            return Served(usage=NOTHING, rejected=lookup.rejected)
        self._order.advance(lookup)
        if lookup.keep is not None:
            self._evict(lookup.request, prompt, lookup.keep, lookup.now)
        return self._commit(lookup, prompt, first_token, end)

    def evict(self, request: Request, keep: int, now: int) -> None:
        """See :meth:`agentsim.cache.CacheBackend.evict`."""
        if request.prompt is not None:
            self._order.changed()
            self._evict(request, request.prompt, keep, now)

    @abstractmethod
    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        """See :meth:`look_up`; its ``version`` is that of ``self._order``."""

    @abstractmethod
    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        """See :meth:`commit`; what is to be evicted is gone, and the request was not rejected."""

    @abstractmethod
    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        """See :meth:`evict`."""


class UnmarkedCache(PromptCache):
    """Entries that a provider makes by itself: the longest that a prompt begins with is read.

    ``rules`` say which rules are in force for a request.
    """

    def __init__(self, rules: RulesInForce) -> None:
        super().__init__()
        self._rules = rules

    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        rules = self._rules.of(request, now)
        found, length = self._find(request, prompt, now, rules, len(prompt) if keep is None else keep)
        tokens = prompt.tokens_until(length)
        read = tokens - tokens % rules.quantum if tokens >= rules.minimum else 0
        return CacheLookup(
            request=request,
            now=now,
            read=read,
            hit=length if read else 0,
            hit_owner=found.owner if found is not None and read else None,
            keep=keep,
            version=self._order.version,
            found=(rules, found, length),
        )

    @abstractmethod
    def _find(
        self, request: Request, prompt: Prompt, now: int, rules: ProviderRules, most: int
    ) -> tuple[Any | None, int]:
        """The longest entry that the prompt begins with and that can be read now, of at most so many blocks, and its
        length in blocks; an entry has an ``owner``. Changes nothing."""


def unknown(request: Request, now: int) -> CacheLookup:
    """The look-up of a request without a prompt."""
    return CacheLookup(request=request, now=now, read=None if request.usage is None else request.usage.read)


def as_reported(request: Request) -> Served:
    """The answer to a request without a prompt: what it reports itself."""
    return Served(usage=request.usage or Usage())


def output_of(request: Request) -> int | None:
    """Output tokens that the log reports: no cache changes them."""
    return None if request.usage is None else request.usage.output


def readable_from(
    request: Request, now: int, rules: ProviderRules, first_token: int | None, end: int | None
) -> int:  # fmt: skip
    """When what a request arriving at ``now`` leaves behind can be read (nanoseconds).

    Where the time of its first token is not known it is assumed, but for a request of which only the order is known:
    that one came after the one before it.
    """
    if rules.readable == "request_start":
        return now
    if rules.readable == "response_end" and end is not None:
        return end
    return first_token_at(request, now, rules, first_token, end)


def first_token_at(request: Request, now: int, rules: ProviderRules, first_token: int | None, end: int | None) -> int:
    """When the answer to a request begins, by what is known of it (nanoseconds)."""
    if first_token is not None:
        return first_token
    if request.start is None and end is None:
        return now
    assumed = now + rules.first_token_after * SECOND
    return assumed if end is None else min(assumed, end)
