"""Provider rules are data: one dated file per provider, each figure with its source and a confidence.

The mechanism that follows them is :mod:`agentsim.cache`; a new provider is a new file here, or one of the user's.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentsim.core.dates import has_date
from agentsim.rules.providers.provider_rules import ProviderRules, RuleFigure, SettingRule

__all__ = ["ProviderRules", "RuleFigure", "SettingRule", "bare_name", "forget_resolved", "rules_for"]

_DAY = 24 * 3600 * 10**9

_MAKER = re.compile(r"^(?:[a-z-]+\.){1,2}(?=[a-z])")
"""us.openai.gpt-…: regions and makers in front of a model's name on a cloud."""


def rules_for(
    provider: str, model: str, when: int | None, profile: str | None = None, *, marked: bool = False
) -> ProviderRules:
    """The rules in force for a model at a time (nanoseconds, UTC; ``None``: now).

    ``profile`` names what a kind of log shows where it differs from the documentation (``session_log``); ``marked``
    asks for the rules of a request that carries breakpoints, where they differ. A time that counts from the beginning
    of its own trace is no date: the rules are those of now. A Claude model follows its maker's rules behind whatever
    cloud or gateway says nothing about it. Raises ValueError when no rules are known for the provider. Rules change
    between days only.
    """
    day = None if when is None or not has_date(when) else when // _DAY
    return _rules_of_day(provider, bare_name(model), day, profile, marked)


def forget_resolved() -> None:
    """Look all rules up again: files have come or gone."""
    _rules_of_day.cache_clear()


@lru_cache(maxsize=1024)
def _rules_of_day(provider: str, model: str, day: int | None, profile: str | None, marked: bool) -> ProviderRules:
    from agentsim.rules.providers.rules_document import RulesFileError
    from agentsim.rules.providers.rules_library import (
        load_rules,  # reading and checking the file takes some milliseconds
    )

    when = None if day is None else day * _DAY
    try:
        file = load_rules(provider)
    except RulesFileError:
        if not model.startswith("claude"):
            raise
        file = load_rules("anthropic")
    if model.startswith("claude") and not _speaks_of_claude(file.provider, file.base(model, when)):
        file = load_rules("anthropic")
    return file.resolve(model, when, profile, marked)


def _speaks_of_claude(provider: str, base: str | None) -> bool:
    from agentsim.rules.providers.rules_library import brought_files

    return provider == "anthropic" or base is not None or any(file.provider == provider for file in brought_files())


def bare_name(model: str) -> str:
    """A model's own name: gateways and clouds put the vendor in front of it, and mark long contexts behind it."""
    name = _MAKER.sub("", model.rsplit("/", 1)[-1].split("[", 1)[0].lower())
    return name[name.index("claude") :].replace(".", "-") if "claude" in name else name
