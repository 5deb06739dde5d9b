"""A rules file: dated figures, each with its source, and how they become the rules for one model at one time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from agentsim.core.prompt import Section
from agentsim.rules.prices.own_prices import OwnPrice
from agentsim.rules.providers.neutral_rules import NEUTRAL, YEAR, needed, neutral
from agentsim.rules.providers.provider_rules import Confidence, ProviderRules, RuleFigure, SettingRule

_SECOND = 10**9


class RulesProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake in a rules file: where it is, and what to do. ``key`` is a path such as ``minimum.0.value``."""

    file: str
    line: int | None
    key: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.reason}"


class RulesFileError(ValueError):
    """Rules that cannot be used, or that are not there. ``problems`` are all mistakes found, in the file's order."""

    def __init__(self, message: str, problems: tuple[RulesProblem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class AlternativeFigure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another reading of a figure that sources support."""

    value: Any
    source: str
    confidence: Confidence


class Dated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, the models (shell patterns) and the days for which it holds, and other readings of it."""

    value: Any
    source: str
    confidence: Confidence
    models: tuple[str, ...] | None = None
    from_: date | None = msgspec.field(default=None, name="from")
    until: date | None = None
    alternatives: tuple[AlternativeFigure, ...] = ()
    line: int | None = None

    def holds(self, model: str, when: int | None) -> bool:
        """True when the figure is in force for a model at a time; at an unknown time, what holds now."""
        if self.models is not None and not any(fnmatchcase(model, pattern) for pattern in self.models):
            return False
        if when is None:
            return self.until is None
        return (self.from_ is None or when >= _start(self.from_)) and (self.until is None or when < _start(self.until))


class Setting(Dated, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sections that a change of one setting re-keys."""

    name: str
    same_as_absent: tuple[str, ...] = ()


class FigureTable(msgspec.Struct, frozen=True, kw_only=True):
    """Figures by rule, and settings. Of those that hold, the last one counts."""

    rules: dict[str, tuple[Dated, ...]] = {}
    settings: tuple[Setting, ...] = ()


class RulesFile(msgspec.Struct, frozen=True, kw_only=True):
    """All that a file says of one provider.

    ``like`` names, by model and date, the provider whose rules hold wherever this file says nothing. ``marked`` holds
    what differs for requests that carry breakpoints, ``profiles`` what differs in a kind of log. ``prices`` are those
    that a user's file brings along.
    """

    provider: str
    read_until: date
    file: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    like: tuple[Dated, ...] = ()
    figures: FigureTable = FigureTable()
    marked: FigureTable = FigureTable()
    profiles: dict[str, FigureTable] = {}
    prices: tuple[OwnPrice, ...] = ()

    def resolve(self, model: str, when: int | None, profile: str | None = None, marked: bool = False) -> ProviderRules:
        """The rules for one model at one time, and for requests with breakpoints or without.

        Raises RulesFileError for an unknown profile, or a rule that is needed and not stated.
        """
        files = self.chain(model, when)
        if profile is not None and not any(profile in file.profiles for file in files):
            known = ", ".join(sorted({name for file in files for name in file.profiles})) or "none"
            raise RulesFileError(f"{self.file}: no profile is called {profile!r} (there are: {known})")
        found: dict[str, tuple[RulesFile, Dated]] = {}
        settings: dict[str, tuple[RulesFile, Setting]] = {}
        for file in files:
            for figures in file._layers(profile, marked):
                for name, options in figures.rules.items():
                    for option in options:
                        if option.holds(model, when):
                            found[name] = (file, option)
                for setting in figures.settings:
                    if setting.holds(model, when):
                        settings[setting.name] = (file, setting)
        return self._built(model, found, settings)

    def chain(self, model: str, when: int | None) -> tuple[RulesFile, ...]:
        """The files whose figures hold for a model: the most general one first, this one last."""
        from agentsim.rules.providers.rules_library import base_of

        files, base = [self], base_of(self, model, when)
        while base is not None:
            if len(files) > MOST_FILES:
                raise RulesFileError(f"{self.file}: its rules refer to each other in a circle")
            files.append(base)
            base = base_of(base, model, when)
        return tuple(reversed(files))

    def base(self, model: str, when: int | None) -> str | None:
        """The provider whose rules hold where this file says nothing."""
        return next((option.value for option in reversed(self.like) if option.holds(model, when)), None)

    @property
    def distinguishes(self) -> bool:
        """Whether requests with breakpoints follow other rules, as far as this file itself says."""
        return bool(self.marked.rules or self.marked.settings)

    def _layers(self, profile: str | None, marked: bool) -> Iterator[FigureTable]:
        yield self.figures
        if marked:
            yield self.marked
        if profile in self.profiles:
            yield self.profiles[profile]

    def _built(
        self,
        model: str,
        found: dict[str, tuple[RulesFile, Dated]],
        settings: dict[str, tuple[RulesFile, Setting]],
    ) -> ProviderRules:
        values: dict[str, Any] = {}
        figures: list[RuleFigure] = []

        def state(name: str, value: Any) -> None:
            values[name] = value
            figures.append(neutral(name, _words(value), self.provider))

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
                raise RulesFileError(
                    f"{self.file}: no figure of {name!r} holds for {model or 'any model'} at that time"
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
        return ProviderRules(provider=self.provider, model=model, figures=tuple(figures), **values)


MOST_FILES = 5
"""Files that may refer to each other in a row."""

_FIRST = ("matching", "eviction")
_NO_RULES = (*_FIRST, "provider", "model", "settings", "figures")
RULES: tuple[str, ...] = (*_FIRST, *(name for name in ProviderRules.__struct_fields__ if name not in _NO_RULES))
"""All rules that a figure can be of. What decides which others are needed comes first."""

SECTIONS = tuple[Section, ...]
"""The type of a setting's value."""


def _figure(rule: str, file: RulesFile, found: Dated) -> RuleFigure:
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


def _start(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp()) * _SECOND
