"""The rules file as people write it. Importing this module imports pydantic."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentsim.prompt import Section
from agentsim.providers.rules import Confidence, Figure, Matching, ProviderRules, SettingRule

Value = TypeVar("Value")
_SECOND = 10**9


class RulesFileError(ValueError):
    """A rules file that cannot be used: which file, which key, and why."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Reading(_Table, Generic[Value]):
    """One reading of a figure, with what it rests on."""

    value: Value
    source: str = Field(min_length=10)
    confidence: Confidence


class Dated(Reading[Value], Generic[Value]):
    """A figure, the models and the time for which it holds, and other readings that sources support."""

    models: list[str] | None = None
    from_: date | None = Field(default=None, alias="from")
    until: date | None = None
    alternatives: list[Reading[Value]] = []

    def holds(self, model: str, when: int | None) -> bool:
        """True when the figure is in force for a model at a time; at an unknown time, what holds now."""
        if self.models is not None and not any(fnmatchcase(model, pattern) for pattern in self.models):
            return False
        if when is None:
            return self.until is None
        return (self.from_ is None or when >= _start(self.from_)) and (self.until is None or when < _start(self.until))


UNROUNDED = Dated[int](value=1, source="nothing says that reads are rounded", confidence="high")
"""The quantum of a provider whose rules name none."""


class Setting(Dated[list[Section]]):
    """The sections that a change of one setting re-keys."""

    name: str
    same_as_absent: list[str]


class Profile(_Table):
    """What a kind of log shows where it differs from the documentation."""

    ttl_clock: list[Dated[Literal["request_start", "response_end"]]] = []
    ttl_grace: list[Dated[int]] = []
    ttl_grace_long: list[Dated[int]] = []


class RulesFile(_Table):
    """All figures of a provider. Each rule is a list of dated figures; the last one that holds counts."""

    provider: str
    read_until: date
    matching: list[Dated[Matching]]
    order: list[Dated[list[Section]]]
    lookback: list[Dated[int]]
    lookback_counts: list[Dated[Literal["block", "run"]]]
    breakpoints: list[Dated[int]]
    on_excess: list[Dated[Literal["reject", "keep_latest"]]]
    shape_in_key: list[Dated[bool]]
    minimum: list[Dated[int]]
    ttl_short: list[Dated[int]]
    ttl_long: list[Dated[int]]
    ttl_clock: list[Dated[Literal["request_start", "response_end"]]]
    ttl_grace: list[Dated[int]]
    refresh: list[Dated[Literal["ancestors", "hit", "none"]]]
    ttl_on_reread: list[Dated[Literal["own"]]]
    readable: list[Dated[Literal["first_token", "request_start", "response_end"]]]
    first_token_after: list[Dated[int]]
    readable_doubt: list[Dated[int]]
    mixed_ttl: list[Dated[Literal["abc"]]]
    ttl_order: list[Dated[Literal["long_first", "any"]]]
    quantum: list[Dated[int]] = [UNROUNDED]
    settings: list[Setting]
    profiles: dict[str, Profile] = {}

    def resolve(self, model: str, when: int | None, profile: str | None) -> ProviderRules:
        """The rules for one model at one time. Raises RulesFileError for an unknown profile or a rule with a gap."""
        over = self._profile(profile)
        values: dict[str, object] = {}
        figures: list[Figure] = []
        for name in type(self).model_fields:
            if name in ("provider", "read_until", "settings", "profiles"):
                continue
            options = [*getattr(self, name), *getattr(over, name, ())]
            found = next((option for option in reversed(options) if option.holds(model, when)), None)
            if found is None:
                raise RulesFileError(f"{self.provider}.toml: no figure of {name!r} holds for {model} at that time")
            values[name] = tuple(found.value) if isinstance(found.value, list) else found.value
            figures.append(_figure(name, found))
        long_grace = [option for option in over.ttl_grace_long if option.holds(model, when)]
        values["ttl_grace_long"] = long_grace[-1].value if long_grace else values["ttl_grace"]
        settings: dict[str, Setting] = {}
        for setting in self.settings:
            if setting.holds(model, when):
                settings[setting.name] = setting
        values["settings"] = tuple(
            SettingRule(
                name=setting.name,
                sections=tuple(setting.value),
                same_as_absent=tuple(setting.same_as_absent),
                confidence=setting.confidence,
            )
            for setting in settings.values()
        )
        figures += [_figure(f"settings.{name}", setting) for name, setting in settings.items()]
        return ProviderRules(provider=self.provider, model=model, figures=tuple(figures), **values)  # type: ignore[arg-type]

    def _profile(self, name: str | None) -> Profile:
        if name is None:
            return Profile()
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none"
            raise RulesFileError(f"{self.provider}.toml: no profile is called {name!r} (there are: {known})")
        return self.profiles[name]


def parse_rules(text: str, name: str) -> RulesFile:
    """A rules file from its text. Raises RulesFileError naming the file, the key and what is wrong with it."""
    try:
        return RulesFile.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RulesFileError(f"{name}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RulesFileError(f"{name}: {place}: {first['msg']}") from None


@cache
def load_rules(provider: str) -> RulesFile:
    """The bundled rules file of a provider. Raises RulesFileError when there is none."""
    path = files("agentsim.providers").joinpath(f"{provider}.toml")
    if not provider.isidentifier() or not path.is_file():
        raise RulesFileError(f"no rules are known for the provider {provider!r}")
    return parse_rules(path.read_text("utf-8"), f"{provider}.toml")


def _figure(rule: str, found: Dated[Value]) -> Figure:
    return Figure(
        rule=rule,
        value=_words(found.value),
        source=found.source,
        confidence=found.confidence,
        alternatives=tuple((_words(other.value), other.source) for other in found.alternatives),
    )


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _start(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp()) * _SECOND
