"""A rules file: dated figures, each with its source, and how they become the rules for one model at one time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import msgspec

from agentsim.core.dates import start_of
from agentsim.core.prompt import Section
from agentsim.rules.dated import Dated
from agentsim.rules.prices.own_prices import OwnPrice
from agentsim.rules.providers.provider_rules import Confidence, ProviderRules


class AlternativeFigure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another reading of a figure that sources support."""

    value: Any
    source: str
    confidence: Confidence


class DatedFigure(Dated, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, the models and the days for which it holds, and other readings of it."""

    value: Any
    source: str
    confidence: Confidence
    alternatives: tuple[AlternativeFigure, ...] = ()
    line: int | None = None


class Setting(DatedFigure, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sections that a change of one setting re-keys."""

    name: str
    same_as_absent: tuple[str, ...] = ()


class FigureTable(msgspec.Struct, frozen=True, kw_only=True):
    """Figures by rule, and settings. Of those that hold, the last one counts."""

    rules: dict[str, tuple[DatedFigure, ...]] = {}
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
    like: tuple[DatedFigure, ...] = ()
    figures: FigureTable = FigureTable()
    marked: FigureTable = FigureTable()
    profiles: dict[str, FigureTable] = {}
    prices: tuple[OwnPrice, ...] = ()

    def moment(self, when: int | None) -> int:
        """The moment whose figures are asked for; an unknown one is the day on which this file's sources were read."""
        return start_of(self.read_until) if when is None else when

    def base(self, model: str, when: int | None) -> str | None:
        """The provider whose rules hold where this file says nothing."""
        moment = self.moment(when)
        return next((option.value for option in reversed(self.like) if option.holds(model, moment)), None)

    def layers(self, profile: str | None, marked: bool) -> Iterator[FigureTable]:
        """Its figures: the general ones, those for requests with breakpoints, those of a profile."""
        yield self.figures
        if marked:
            yield self.marked
        if profile in self.profiles:
            yield self.profiles[profile]


_FIRST = ("matching", "eviction")
_NO_RULES = (*_FIRST, "provider", "model", "settings", "figures")
RULES: tuple[str, ...] = (*_FIRST, *(name for name in ProviderRules.__struct_fields__ if name not in _NO_RULES))
"""All rules that a figure can be of. What decides which others are needed comes first."""

SECTIONS = tuple[Section, ...]
"""The type of a setting's value."""
