"""Requests of several providers, each answered by a model of its own provider."""

from __future__ import annotations

from agentsim.cache import CacheBackend, CacheLookup, Served
from agentsim.cache.prompt_cache import as_reported, unknown
from agentsim.cache.rules_in_force import ByDay
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules, rules_for


class RoutedProvider(CacheBackend):
    """A :class:`agentsim.cache.CacheBackend` that hands each request to the mechanism that its rules ask for.

    A request with breakpoints may follow other rules than one without, and one of a later day others than before: what
    was kept by another mechanism is then not found. ``profile`` is used where the rules of a provider have it;
    ``forgets`` and ``outlives`` are those of :class:`agentsim.cache.modeled_provider.ModeledProvider`. Deterministic.
    """

    def __init__(
        self, *, profile: str | None = None, forgets: bool = False, outlives: tuple[int, int] = (0, 0)
    ) -> None:
        self._profile = profile
        self._outlives = outlives
        self._forgets = forgets
        self._made: dict[tuple[str, ...], CacheBackend] = {}
        self._backends = ByDay(self._find_backend)

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """See :meth:`agentsim.cache.CacheBackend.look_up`."""
        if request.prompt is None:
            return unknown(request, now)
        return self._backends.of(request, now).look_up(request, now, keep=keep)

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.commit`."""
        if lookup.request.prompt is None:
            return as_reported(lookup.request)
        return self._backends.of(lookup.request, lookup.now).commit(lookup, first_token=first_token, end=end)

    def evict(self, request: Request, keep: int, now: int) -> None:
        """See :meth:`agentsim.cache.CacheBackend.evict`."""
        if request.prompt is not None:
            self._backends.of(request, now).evict(request, keep, now)

    def _find_backend(self, request: Request, now: int, marked: bool) -> CacheBackend:
        return self.backend_under(rules_for(request.provider, request.model, now, marked=marked))

    def backend_under(self, rules: ProviderRules) -> CacheBackend:
        """The backend that answers requests under these rules."""
        # An engine is one machine with one model; a provider's mechanism looks the rules of each request up itself.
        own = rules.eviction != "lifetime"
        key = (rules.eviction, rules.provider, rules.model) if own else (rules.matching,)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = backend_for(
                rules, profile=self._profile, forgets=self._forgets, outlives=self._outlives
            )
        return found


def backend_for(
    rules: ProviderRules, *, profile: str | None = None, forgets: bool = False, outlives: tuple[int, int] = (0, 0)
) -> CacheBackend:
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

    return ModeledProvider(profile=profile, forgets=forgets, outlives=outlives)
