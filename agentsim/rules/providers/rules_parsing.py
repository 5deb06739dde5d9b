"""Reads a rules file and names every mistake in it, with its line."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar, get_type_hints

import msgspec

from agentsim.core.dates import start_of
from agentsim.core.money import picodollars
from agentsim.core.near_words import did_you_mean
from agentsim.core.toml_lines import Path
from agentsim.core.written_files import WrittenFile
from agentsim.rules.dated import Dated
from agentsim.rules.prices.own_prices import OwnPrice
from agentsim.rules.prices.rate_card import RateCard
from agentsim.rules.providers.provider_rules import ProviderRules
from agentsim.rules.providers.rules_document import (
    RULES,
    SECTIONS,
    AlternativeFigure,
    DatedFigure,
    FigureTable,
    RulesFile,
    Setting,
)

Table = TypeVar("Table", DatedFigure, Setting)


class _Price(Dated, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[price]]``: US dollars for a million tokens as text; ``storage`` for keeping them an hour."""

    fresh: str
    output: str
    source: str
    read: str | None = None
    write_short: str | None = None
    write_long: str | None = None
    storage: str | None = None


PRICES = ("fresh", "output", "read", "write_short", "write_long", "storage")
_OLD_PRICES = {"write_5m": "write_short", "write_1h": "write_long"}
LARGEST_PRICE = 10**9
"""Dollars for a million tokens; no price is as high."""

SHORTEST_SOURCE = 10
"""Characters; less says nothing."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TOP = ("provider", "title", "read_until", "aliases", "like", "price", "settings", "marked", "profiles")
_TYPES = get_type_hints(ProviderRules, include_extras=True)


def parse_rules(text: str, name: str) -> RulesFile:
    """A rules file from its text. Raises WrittenFileError, which names the file, line and key of each mistake."""
    written = WrittenFile(text, name)
    found = _Parser(written).file()
    written.check()
    assert found is not None
    return found


class _Parser:
    """Goes through the tables of one file."""

    def __init__(self, written: WrittenFile) -> None:
        self._written = written
        self.say = written.say

    def file(self) -> RulesFile | None:
        data = self._written.data
        provider = self._word(data, "provider")
        if not _NAME.fullmatch(provider) and "provider" in data:
            self.say(("provider",), "not a name", "small letters, digits and -._ only")
        read_until = data.get("read_until")
        if type(read_until) is not date:
            self.say(("read_until",), "not a day", "the day of the newest source, such as 2026-11-20")
        figures = self._figures(data, (), _TOP)
        marked = self._figures(self._mapping(data, "marked"), ("marked",), ("settings",))
        profiles = {
            name: self._figures(tables, ("profiles", name), ("settings",))
            for name, tables in self._mapping(data, "profiles").items()
            if isinstance(tables, dict) or self.say(("profiles", name), "not a table", "[[profiles.NAME.RULE]]")
        }
        like = self._dated(data.get("like", []), ("like",), str, DatedFigure)
        aliases = self._convert(data.get("aliases", []), tuple[str, ...], ("aliases",))
        prices = self._prices(data.get("price", []), read_until if type(read_until) is date else date.min)
        if self._written.problems:
            return None
        assert isinstance(read_until, date)
        return RulesFile(
            provider=provider,
            title=self._word(data, "title") if "title" in data else "",
            read_until=read_until,
            file=self._written.file,
            aliases=tuple(alias.lower() for alias in aliases),
            like=like,
            figures=figures,
            marked=marked,
            profiles=profiles,
            prices=prices,
        )

    def _figures(self, data: dict[str, Any], at: Path, others: tuple[str, ...]) -> FigureTable:
        rules: dict[str, tuple[DatedFigure, ...]] = {}
        for name, tables in data.items():
            if name in RULES:
                rules[name] = self._dated(tables, (*at, name), _TYPES[name], DatedFigure)
            elif name not in others:
                remedy = did_you_mean(name, (*RULES, *others), "see docs/providers.md for the rules")
                self.say((*at, name), "no rule is called so", remedy)
        settings = self._dated(data.get("settings", []), (*at, "settings"), SECTIONS, Setting)
        return FigureTable(rules=rules, settings=settings)

    def _prices(self, tables: object, read_until: date) -> tuple[OwnPrice, ...]:
        if not isinstance(tables, list):
            self.say(("price",), "not a list of tables", "write [[price]]")
            return ()
        found = []
        for i, table in enumerate(tables):
            if isinstance(table, dict):  # by what Anthropic's two tiers last, as files said before 0.1.0
                table = {_OLD_PRICES.get(name, name): value for name, value in table.items()}
            stated = self._convert(table, _Price, ("price", i))
            if stated is None:
                continue
            if len(stated.source.strip()) < SHORTEST_SOURCE:
                self.say(("price", i, "source"), "says nothing", "name the document and its date")
            values = {name: self._per_token(getattr(stated, name), ("price", i, name)) for name in PRICES}
            card = RateCard(**values)  # type: ignore[arg-type]
            found.append(
                OwnPrice(
                    card=card,
                    models=stated.models,
                    from_=stated.from_,
                    until=stated.until,
                    read_until=start_of(read_until),
                )
            )
        return tuple(found)

    def _per_token(self, stated: str | None, at: Path) -> int | None:
        """Picodollars a token of a price in dollars for a million."""
        if stated is None:
            return None
        try:
            amount = Decimal(stated)
            if amount.is_finite() and 0 <= amount < LARGEST_PRICE:
                whole, rest = divmod(picodollars(amount), 10**6)
                if not rest:
                    return whole
        except (ArithmeticError, ValueError):
            pass
        remedy = 'dollars for a million tokens, as text: "0.25"; at most six decimals'
        self.say(at, "not an exact price", remedy)
        return 0

    def _dated(self, tables: object, at: Path, kind: Any, made: type[Table]) -> tuple[Table, ...]:
        if not isinstance(tables, list):
            self.say(at, "not a list of tables", f"write [[{'.'.join(str(part) for part in at)}]]")
            return ()
        return tuple(found for i, each in enumerate(tables) if (found := self._one(each, (*at, i), kind, made)))

    def _one(self, table: object, at: Path, kind: Any, made: type[Table]) -> Table | None:
        if not isinstance(table, dict):
            self.say(at, "not a table", "a figure has value, source and confidence")
            return None
        if "line" in table:
            self.say((*at, "line"), "no key of a figure is called so", "leave it out")
            return None
        found: Table | None = self._convert(table, made, at)
        if found is None:
            return None
        value = self._convert(found.value, kind, (*at, "value"))
        readings = tuple(
            msgspec.structs.replace(
                reading, value=self._convert(reading.value, kind, (*at, "alternatives", i, "value"))
            )
            for i, reading in enumerate(found.alternatives)
        )
        self._sources(found, at, readings)
        if found.from_ is not None and found.until is not None and found.until <= found.from_:
            self.say((*at, "until"), "not after 'from'", "until is the first day on which it no longer holds")
        line = self._written.line(at)
        result: Table = msgspec.structs.replace(found, value=value, alternatives=readings, line=line)
        return result

    def _sources(self, found: DatedFigure, at: Path, readings: tuple[AlternativeFigure, ...]) -> None:
        given = [((*at, "source"), found.source)]
        given += [((*at, "alternatives", i, "source"), reading.source) for i, reading in enumerate(readings)]
        for path, source in given:
            if len(source.strip()) < SHORTEST_SOURCE:
                self.say(path, "says nothing", "name the document and its date, or say that it is assumed")

    def _convert(self, value: object, kind: Any, at: Path) -> Any:
        try:
            return msgspec.convert(value, kind)  # many times as fast as looking for mistakes
        except msgspec.ValidationError:
            return self._written.fit(value, kind, at)

    def _word(self, data: dict[str, Any], key: str) -> str:
        value = data.get(key)
        if isinstance(value, str) and value:
            return value
        self.say((key,), "missing" if value is None else "not a text", f'add {key} = "..."')
        return ""

    def _mapping(self, data: dict[str, Any], key: str) -> dict[str, Any]:
        value = data.get(key, {})
        if isinstance(value, dict):
            return value
        self.say((key,), "not a table", f"write [[{key}.RULE]]")
        return {}
