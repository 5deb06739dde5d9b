"""What the rules say that an endpoint will report, and whether it did."""

from __future__ import annotations

from agentsim.cache import CacheBackend
from agentsim.core.session import Usage
from agentsim.rules.providers import ProviderRules, rules_for

ENGINES = ("vllm", "sglang")
"""Rules of servers whose cache has a size and no lifetime."""

TOLERANCE = 50
"""A read may be off by one part in so many of the prompt: the sizes of blocks are estimates."""


def backend_for(name: str, model: str) -> CacheBackend:
    """A modeled cache by the name of its rules. Raises ValueError for rules that nobody knows."""
    from agentsim.rules.providers.rules_library import load_rules

    load_rules(name)  # for a model of a known maker any name would do
    rules = rules_for(name, model, None)
    if name in ENGINES:
        from agentsim.cache.engine_cache import EngineCache

        return EngineCache(rules)
    from agentsim.cache.routed_backend import RoutedProvider

    return RoutedProvider()


def quantum_of(name: str, model: str) -> int:
    """The steps in which the rules count what is read."""
    rules: ProviderRules = rules_for(name, model, None)
    return rules.quantum


def expected_read(predicted: Usage, reported: Usage) -> int | None:
    """The tokens that should have been read, in the endpoint's own count of the prompt; ``None`` where it has none."""
    total, own = predicted.total_input, reported.total_input
    if predicted.read is None or own is None or not total:
        return None
    return (predicted.read * own + total // 2) // total


def agrees(predicted: Usage, reported: Usage, quantum: int) -> bool | None:
    """Whether as much was read as predicted, within a step and an estimate's error; ``None`` where that is unknown."""
    expected = expected_read(predicted, reported)
    total = reported.total_input
    if expected is None or total is None or reported.read is None:
        return None
    slack = 0 if predicted.total_input == total else max(quantum, total // TOLERANCE)
    return abs(reported.read - expected) <= slack
