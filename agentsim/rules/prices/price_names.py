"""The spellings under which a log names a model, and which model of the price table they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentsim.rules.prices.price_table import MODELS, PricedModel, PricedProvider, PriceTable

LONGEST = 200
"""Characters; a longer name is no model's."""

WINDOW = re.compile(r"\[[^\]]*\]$")  # claude-opus-4-6[1m]: the harness' mark for a context window
CLOUD = re.compile(r"^(?:(?:[a-z-]{2,10}\.)?anthropic|[a-z-]{2,10}\.openai)\.")  # us.anthropic.claude-… on Bedrock
GEOGRAPHY = re.compile(r"^(?:.*/)?([a-z-]{2,10})\.(?:anthropic|openai)\.")
REVISION = re.compile(r"-v\d+(?::\d+)*$")  # …-v1:0
DATE = re.compile(r"[-@]20\d{6}$|-latest$")
DOTS = re.compile(r"(?<=\d)\.(?=\d)")  # claude-fable-5.2: gateways write the version so, its maker does not
COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


def spellings(name: str) -> Iterator[str]:
    """A model's name as it stands, then with one layer of decoration after the other taken off. Lower case."""
    name = name.strip().lower()
    yield name
    for pattern in (WINDOW, None, CLOUD, REVISION, DATE):
        shorter = name.rpartition("/")[2] if pattern is None else pattern.sub("", name)
        if shorter and shorter != name:
            name = shorter
            yield name
    if name.startswith("claude") and (dashed := DOTS.sub("-", name)) != name:
        yield dashed


def geography(name: str) -> str | None:
    """The part of the world to which a cloud's name of a model keeps its requests; ``None`` for all of it."""
    found = GEOGRAPHY.match(name.strip().lower())
    return None if found is None or found[1] == "global" else found[1]


def model_names() -> frozenset[str]:
    """The names of all models that the price table knows. Decodes all of it."""
    from agentsim.rules.prices.price_store import load_table

    return frozenset(model.id for provider in load_table().providers for model in MODELS.decode(provider.models))


class Directory:
    """Finds models by name. Decodes a provider's models when they are first asked for, and keeps them."""

    def __init__(self, table: PriceTable) -> None:
        self._providers = {provider.id: provider for provider in table.providers}
        self._aliases = table.aliases
        self._models: dict[str, tuple[PricedModel, ...]] = {}

    def find(self, provider: str, name: str) -> tuple[str, PricedModel] | None:
        """The provider whose price applies and the model, or ``None`` when no such model is known.

        The provider's own list is tried first. A log of a known provider that names a model of somebody else's
        (requests through a gateway that speaks another maker's protocol) gets the list price of that model's maker.
        Somebody of whom nothing is known gets no price at all: an engine may serve a model of any name.
        """
        if not name or len(name) > LONGEST:
            return None
        named = self._provider(provider)
        if named is None:
            return None
        if found := self._find(named, name):
            return found
        head, slash, rest = name.partition("/")
        prefixed = self._provider(head) if slash else None
        if prefixed is not None and prefixed is not named and (found := self._find(prefixed, rest)):
            return found
        for spelling in spellings(name):
            for maker in self._providers.values():
                if maker.model_match is not None and maker.model_match.matches(spelling):
                    return self._find(maker, spelling)
        return None

    def _provider(self, name: str) -> PricedProvider | None:
        name = name.strip().lower()
        name = self._aliases.get(name, name)
        if not name:
            return None
        if found := self._providers.get(name):
            return found
        return next((p for p in self._providers.values() if p.match is not None and p.match.matches(name)), None)

    def _find(self, provider: PricedProvider, name: str) -> tuple[str, PricedModel] | None:
        for spelling in spellings(name):
            for written in (spelling, COMPACT_DATE.sub(r"-\1-\2-\3", spelling)):
                for owner in (provider, *(self._providers[p] for p in provider.fallbacks if p in self._providers)):
                    if model := next((m for m in self._list(owner) if m.match.matches(written)), None):
                        return owner.id, model
        return None

    def _list(self, provider: PricedProvider) -> tuple[PricedModel, ...]:
        models = self._models.get(provider.id)
        if models is None:
            models = self._models[provider.id] = MODELS.decode(provider.models)
        return models
