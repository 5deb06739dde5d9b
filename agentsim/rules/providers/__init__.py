"""Provider rules are data: one dated file per provider, each figure with its source and a confidence.

The mechanism that follows them is :mod:`agentsim.cache`; a new provider is a new file here, or one of the user's.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from agentsim.core.dates import DAY, has_date
from agentsim.rules.dated import bare_name
from agentsim.rules.providers.provider_rules import ProviderRules, RuleFigure, SettingRule

__all__ = ["ProviderRules", "RuleFigure", "SettingRule", "bare_name", "forget_resolved", "has_own_rules", "rules_for"]


def rules_for(
    provider: str, model: str, when: int | None, profile: str | None = None, *, marked: bool = False
) -> ProviderRules:
    """The rules in force for a model at a time (nanoseconds, UTC).

    ``profile`` names what a kind of log shows where it differs from the documentation (``session_log``); ``marked``
    asks for the rules of a request that carries breakpoints, where they differ. At an unknown time, and at
    one that counts from the beginning of its own trace, the rules are those of the day on which the sources were
    read. A Claude model follows its maker's rules behind whatever
    cloud or gateway says nothing about it. Raises ValueError when no rules are known for the provider. Rules change
    between days only.
    """
    day = None if when is None or not has_date(when) else when // DAY
    return _rules_of_day(provider, model, day, profile, marked)


def forget_resolved() -> None:
    """Look all rules up again: files have come or gone."""
    _rules_of_day.cache_clear()


@lru_cache(maxsize=1024)
def _rules_of_day(provider: str, model: str, day: int | None, profile: str | None, marked: bool) -> ProviderRules:
    # Reading and checking a file takes some milliseconds.
    from agentsim.core.file_problems import WrittenFileError
    from agentsim.rules.providers.rules_library import load_rules
    from agentsim.rules.providers.rules_resolution import resolve

    when = None if day is None else day * DAY
    try:
        file = load_rules(provider)
    except WrittenFileError:
        if not bare_name(model).startswith("claude"):
            raise
        file = load_rules("anthropic")
    if bare_name(model).startswith("claude") and not _speaks_of_claude(file.provider, file.base(model, when)):
        file = load_rules("anthropic")
    return resolve(file, model, when, profile, marked)


def has_own_rules(provider: str) -> bool:
    """Whether the user brought rules for a provider along. Loads nothing: whoever brings a file has loaded the
    library."""
    library = sys.modules.get("agentsim.rules.providers.rules_library")
    return library is not None and any(file.provider == provider for file in library.brought_files())


def _speaks_of_claude(provider: str, base: str | None) -> bool:
    from agentsim.rules.providers.rules_library import brought_files

    return provider == "anthropic" or base is not None or any(file.provider == provider for file in brought_files())
