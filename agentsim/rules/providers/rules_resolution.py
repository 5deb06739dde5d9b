"""How dated figures of files that refer to each other become the rules for one model at one time."""

from __future__ import annotations

from typing import Any

from agentsim.core.file_problems import refused
from agentsim.core.near_words import did_you_mean
from agentsim.rules.dated import bare_name
from agentsim.rules.providers.neutral_rules import NEUTRAL, YEAR, needed, neutral
from agentsim.rules.providers.provider_rules import ProviderRules, RuleFigure, SettingRule
from agentsim.rules.providers.rules_document import RULES, DatedFigure, RulesFile, Setting
from agentsim.rules.providers.rules_library import base_of

PROFILES = ("session_log",)
"""Kinds of logs under which rules may differ from what is documented."""

_STATE_IT = "state that rule, or refer to another provider with [[like]]"

MOST_FILES = 5
"""Files that may refer to each other in a row."""


def resolve(
    asked: RulesFile, model: str, when: int | None, profile: str | None = None, marked: bool = False
) -> ProviderRules:
    """The rules for one model, named as in a log, at one time, and for requests with breakpoints or without.

    Where the files say nothing under a profile, the documented rules hold. At an unknown time each file is asked for
    the day on which its sources were read. Raises WrittenFileError for an unknown profile, or a rule that is needed and
    not stated.
    """
    files = chain(asked, model, when)
    if profile is not None and profile not in PROFILES and not any(profile in file.profiles for file in files):
        raise refused(
            f"no profile is called {profile!r}", did_you_mean(profile, PROFILES, f"there are {', '.join(PROFILES)}")
        )
    found: dict[str, tuple[RulesFile, DatedFigure]] = {}
    settings: dict[str, tuple[RulesFile, Setting]] = {}
    for file in files:
        moment = file.moment(when)
        for figures in file.layers(profile, marked):
            for name, options in figures.rules.items():
                for option in options:
                    if option.holds(model, moment):
                        found[name] = (file, option)
            for setting in figures.settings:
                if setting.holds(model, moment):
                    settings[setting.name] = (file, setting)
    return _built(asked, bare_name(model), found, settings)


def chain(asked: RulesFile, model: str, when: int | None) -> tuple[RulesFile, ...]:
    """The files whose figures hold for a model: the most general one first, the one that is asked last."""
    files, base = [asked], base_of(asked, model, when)
    while base is not None:
        if len(files) > MOST_FILES:
            raise refused("its rules refer to each other in a circle", "let one of them state its own", file=asked.file)
        files.append(base)
        base = base_of(base, model, when)
    return tuple(reversed(files))


def _built(
    asked: RulesFile,
    model: str,
    found: dict[str, tuple[RulesFile, DatedFigure]],
    settings: dict[str, tuple[RulesFile, Setting]],
) -> ProviderRules:
    values: dict[str, Any] = {}
    figures: list[RuleFigure] = []

    def state(name: str, value: Any) -> None:
        values[name] = value
        figures.append(neutral(name, _words(value), asked.provider))

    for name in RULES:
        if name in found:
            file, option = found[name]
            values[name] = option.value
            figures.append(_figure(name, file, option))
        elif name == "ttl_grace_long":
            values[name] = values["ttl_grace"]
        elif name in ("ttl_short", "ttl_long") and values["eviction"] != "lifetime":
            state(name, YEAR)
        elif name == "ttl_long" and "ttl_short" in values:
            state(name, values["ttl_short"])
        elif name in NEUTRAL and name not in needed(values["matching"]):
            state(name, NEUTRAL[name])
        else:
            raise refused(
                f"no figure of {name!r} holds for {model or 'any model'} at that time", _STATE_IT, file=asked.file
            )
    values["settings"] = tuple(
        SettingRule(
            name=setting.name,
            sections=setting.value,
            same_as_absent=setting.same_as_absent,
            confidence=setting.confidence,
        )
        for _, setting in settings.values()
    )
    figures += [_figure(f"settings.{name}", file, setting) for name, (file, setting) in settings.items()]
    return ProviderRules(provider=asked.provider, model=model, figures=tuple(figures), **values)


def _figure(rule: str, file: RulesFile, found: DatedFigure) -> RuleFigure:
    return RuleFigure(
        rule=rule,
        value=_words(found.value),
        source=found.source,
        confidence=found.confidence,
        alternatives=tuple((_words(other.value), other.source) for other in found.alternatives),
        provider=file.provider,
        file=file.file,
        line=found.line,
        since=None if found.from_ is None else found.from_.isoformat(),
        until=None if found.until is None else found.until.isoformat(),
    )


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return (
            ", ".join(" ".join(str(part) for part in item) if isinstance(item, tuple) else str(item) for item in value)
            or "nothing"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
