"""Provider rules are data: one dated file per provider, each figure with its source and a confidence.

The mechanism that follows them is :mod:`agentsim.backends`; a new provider is a new file here.
"""

from __future__ import annotations

from functools import lru_cache

from agentsim.providers.rules import Figure, ProviderRules, SettingRule

__all__ = ["Figure", "ProviderRules", "SettingRule", "rules_for"]

_DAY = 24 * 3600 * 10**9


def rules_for(provider: str, model: str, when: int | None, profile: str | None = None) -> ProviderRules:
    """The rules in force for a model at a time (nanoseconds, UTC; ``None``: now).

    ``profile`` names what a kind of log shows where it differs from the documentation (``session_log``). A Claude model
    behind a cloud or a gateway follows its maker's rules. Raises ValueError when no rules are known for the
    provider. Rules change between days only.
    """
    name = _bare(model)
    if provider != "anthropic" and name.startswith("claude"):
        provider = "anthropic"
    return _rules_of_day(provider, name, None if when is None else when // _DAY, profile)


@lru_cache(maxsize=1024)
def _rules_of_day(provider: str, model: str, day: int | None, profile: str | None) -> ProviderRules:
    from agentsim.providers.document import load_rules  # pydantic, and reading the file

    return load_rules(provider).resolve(model, None if day is None else day * _DAY, profile)


def _bare(model: str) -> str:
    """A model's own name: gateways and clouds put the vendor in front of it, and mark long contexts behind it."""
    name = model.rsplit("/", 1)[-1].split("[", 1)[0].lower()
    return name[name.index("claude") :].replace(".", "-") if "claude" in name else name
