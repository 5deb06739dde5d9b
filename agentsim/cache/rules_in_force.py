"""The rules of each request of a backend: the same for all, or those of its model on its day, looked up once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from agentsim.core.dates import DAY
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules, rules_for

Found = TypeVar("Found")

LookUp = Callable[[Request, int, bool], ProviderRules]
"""Finds the rules for a request at a time (nanoseconds), which carries breakpoints or not."""


def by_model(request: Request, now: int, marked: bool) -> ProviderRules:
    """The rules of a request's model. Raises ValueError for a provider without known rules."""
    return rules_for(request.provider, request.model, now, marked=marked)


def by_interface(request: Request, now: int, marked: bool) -> ProviderRules:
    """The rules of a request's provider, whoever made the model: how its interface counts, whatever it serves.

    Raises ValueError for a provider without known rules.
    """
    from agentsim.rules.providers.rules_library import load_rules  # reading the file
    from agentsim.rules.providers.rules_resolution import resolve

    return resolve(load_rules(request.provider), request.model, now, None, marked)


class ByDay(Generic[Found]):
    """Remembers what ``look_up`` found by provider, model, day (UTC) and whether a request carries breakpoints: rules
    change between days only."""

    __slots__ = ("_known", "_look_up")

    def __init__(self, look_up: Callable[[Request, int, bool], Found]) -> None:
        self._look_up = look_up
        self._known: dict[tuple[str, str, int, bool], Found] = {}

    def of(self, request: Request, now: int) -> Found:
        """What holds for a request at a time. Raises what ``look_up`` raises."""
        marked = request.prompt is not None and bool(request.prompt.breakpoints)
        key = (request.provider, request.model, now // DAY, marked)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._look_up(request, now, marked)
        return found


class RulesInForce:
    """The rules of each request. With ``rules`` nothing is looked up."""

    __slots__ = ("_found", "_rules")

    def __init__(self, rules: ProviderRules | None, look_up: LookUp) -> None:
        self._rules = rules
        self._found = ByDay(look_up)

    def of(self, request: Request, now: int) -> ProviderRules:
        """The rules of a request at a time. Raises what ``look_up`` raises."""
        return self._found.of(request, now) if self._rules is None else self._rules
