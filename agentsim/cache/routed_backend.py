"""Requests of several providers, each answered by a model of its own provider."""

from __future__ import annotations

from agentsim.cache import CacheBackend, Served
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules, rules_for


class RoutedProvider:
    """A :class:`agentsim.cache.CacheBackend` that hands each request to the mechanism that its rules ask for.

    A request with breakpoints may follow other rules than one without. ``profile`` is used where the rules of a
    provider have it. Deterministic.
    """

    def __init__(self, *, profile: str | None = None) -> None:
        self._profile = profile
        self._made: dict[tuple[str, ...], CacheBackend] = {}
        self._known: dict[tuple[str, str, bool], CacheBackend] = {}

    def serve(self, request: Request, now: int) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.serve`. Raises ValueError for a provider without known rules."""
        if request.prompt is None:
            return Served(usage=request.usage or Usage())
        return self._backend_of(request, now).serve(request, now)

    def would_read(self, request: Request, now: int) -> int:
        """Tokens of the prompt that would be read at ``now``, where its mechanism foresees that. Changes nothing."""
        if request.prompt is None:
            return 0
        foresee = getattr(self._backend_of(request, now), "would_read", None)
        return foresee(request, now) if foresee is not None else 0

    def forget(self, request: Request, keep: int, now: int) -> None:
        """Lose what is kept of a request's prompt behind its first ``keep`` blocks, where that may happen early."""
        if request.prompt is not None:
            forget = getattr(self._backend_of(request, now), "forget", None)
            if forget is not None:
                forget(request, keep, now)

    def _backend_of(self, request: Request, now: int) -> CacheBackend:
        marked = request.prompt is not None and bool(request.prompt.breakpoints)
        key = (request.provider, request.model, marked)
        backend = self._known.get(key)
        if backend is None:
            rules = rules_for(request.provider, request.model, now, marked=marked)
            backend = self._known[key] = self.backend_under(rules)
        return backend

    def backend_under(self, rules: ProviderRules) -> CacheBackend:
        """The backend that answers requests under these rules."""
        # An engine is one machine with one model; a provider's mechanism looks the rules of each request up itself.
        own = rules.eviction != "lifetime"
        key = (rules.eviction, rules.provider, rules.model) if own else (rules.matching,)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = backend_for(rules, profile=self._profile)
        return found


def backend_for(rules: ProviderRules, *, profile: str | None = None) -> CacheBackend:
    """A backend of the mechanism that rules ask for. It follows the rules of each request, or those of one engine."""
    if rules.eviction == "slot" or rules.matching == "slot":
        from agentsim.cache.slot_cache import SlotCache

        return SlotCache(rules)
    if rules.eviction == "lru":
        from agentsim.cache.engine_cache import EngineCache

        return EngineCache(rules, rules.capacity or None)
    if rules.matching == "longest_prefix":
        from agentsim.cache.longest_prefix_cache import LongestPrefixProvider

        return LongestPrefixProvider()
    if rules.matching == "unit":
        from agentsim.cache.unit_cache import UnitProvider

        return UnitProvider()
    from agentsim.cache.modeled_provider import ModeledProvider

    return ModeledProvider(profile=profile)
