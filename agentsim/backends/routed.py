"""Requests of several providers, each answered by a model of its own provider."""

from __future__ import annotations

from agentsim.backends import CacheBackend, Served
from agentsim.providers import ProviderRules, rules_for
from agentsim.session import Request, Usage


class RoutedProvider:
    """A :class:`agentsim.backends.CacheBackend` that hands each request to the mechanism that its rules match by.

    ``profile`` is used where the rules of a provider have it. Deterministic.
    """

    def __init__(self, *, profile: str | None = None) -> None:
        self._profile = profile
        self._by_matching: dict[str, CacheBackend] = {}
        self._known: dict[tuple[str, str], CacheBackend] = {}

    def serve(self, request: Request, now: int) -> Served:
        """See :meth:`agentsim.backends.CacheBackend.serve`. Raises ValueError for a provider without known rules."""
        if request.prompt is None:
            return Served(usage=request.usage or Usage())
        key = (request.provider, request.model)
        backend = self._known.get(key)
        if backend is None:
            backend = self._known[key] = self._backend_for(rules_for(request.provider, request.model, now))
        return backend.serve(request, now)

    def _backend_for(self, rules: ProviderRules) -> CacheBackend:
        found = self._by_matching.get(rules.matching)
        if found is None:
            found = self._by_matching[rules.matching] = _made(rules.matching, self._profile)
        return found


def _made(matching: str, profile: str | None) -> CacheBackend:
    if matching == "longest_prefix":
        from agentsim.backends.longest_prefix import LongestPrefixProvider

        return LongestPrefixProvider()
    if matching == "unit":
        from agentsim.backends.units import UnitProvider

        return UnitProvider()
    from agentsim.backends.modeled import ModeledProvider

    return ModeledProvider(profile=profile)
