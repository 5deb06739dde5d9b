"""Reads a rules file and names every mistake in it, with its line."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeVar, get_type_hints

import msgspec

from agentsim.core.dates import start_of
from agentsim.core.money import picodollars
from agentsim.core.toml_lines import Path, key_lines, line_of
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
    RulesFileError,
    RulesProblem,
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
_WHERE = re.compile(r" - at `\$\.?(.*)`$")
_MOST_PROBLEMS = 50


def parse_rules(text: str, name: str) -> RulesFile:
    """A rules file from its text. Raises RulesFileError, which names the file, line and key of each mistake."""
    parser = _Parser(text, name)
    try:
        found = parser.file()
    except RecursionError:
        found = None
        parser.say((), "nested too deeply", "no figure is nested")
    if parser.problems or found is None:
        problems = tuple(sorted(parser.problems, key=lambda problem: problem.line or 0)[:_MOST_PROBLEMS])
        raise RulesFileError(str(problems[0]), problems)
    return found


class _Parser:
    """Goes through the tables of one file. Mutable: collects problems."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._lines: dict[Path, int] = {}
        self.problems: list[RulesProblem] = []

    def file(self) -> RulesFile | None:
        try:
            data = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"\(at line (\d+)", str(error))
            reason = re.sub(r" \(at line .*\)$", "", str(error))
            self._add(int(at.group(1)) if at else None, "", f"not TOML: {reason}", "see https://toml.io")
            return None
        self._lines = key_lines(self._text)
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
        aliases = self._convert(data.get("aliases", []), tuple[str, ...], ("aliases",), "a list of names")
        prices = self._prices(data.get("price", []), read_until if type(read_until) is date else date.min)
        if self.problems:
            return None
        assert isinstance(read_until, date)
        return RulesFile(
            provider=provider,
            title=self._word(data, "title") if "title" in data else "",
            read_until=read_until,
            file=self._name,
            aliases=tuple(alias.lower() for alias in aliases),
            like=like,
            figures=figures,
            marked=marked,
            profiles=profiles,
            prices=prices,
        )

    def say(self, path: Path, reason: str, remedy: str) -> bool:
        """Add a problem at a key; returns False."""
        self._add(line_of(self._lines, path), ".".join(str(part) for part in path), reason, remedy)
        return False

    def _figures(self, data: dict[str, Any], at: Path, others: tuple[str, ...]) -> FigureTable:
        rules: dict[str, tuple[DatedFigure, ...]] = {}
        for name, tables in data.items():
            if name in RULES:
                rules[name] = self._dated(tables, (*at, name), _TYPES[name], DatedFigure)
            elif name not in others:
                near = get_close_matches(name, (*RULES, *others), 1)
                remedy = f"did you mean {near[0]!r}?" if near else "see docs/providers.md for the rules"
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
            stated = self._convert(table, _Price, ("price", i), "a price has fresh, output and source")
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
        found: Table | None = self._convert(table, made, at, "a figure has value, source and confidence")
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
        line = line_of(self._lines, at)
        result: Table = msgspec.structs.replace(found, value=value, alternatives=readings, line=line)
        return result

    def _sources(self, found: DatedFigure, at: Path, readings: tuple[AlternativeFigure, ...]) -> None:
        given = [((*at, "source"), found.source)]
        given += [((*at, "alternatives", i, "source"), reading.source) for i, reading in enumerate(readings)]
        for path, source in given:
            if len(source.strip()) < SHORTEST_SOURCE:
                self.say(path, "says nothing", "name the document and its date, or say that it is assumed")

    def _convert(
        self, value: object, kind: Any, at: Path, remedy: str = "see docs/providers.md for what it can be"
    ) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            text = str(error)
            where = _WHERE.search(text)
            inside = tuple(_steps(where.group(1))) if where else ()
            reason = _WHERE.sub("", text)
            unknown = re.search(r"unknown field `(.*)`", reason)
            missing = re.search(r"missing required field `(.*)`", reason)
            if unknown:
                inside = (*inside, unknown.group(1))
                near = get_close_matches(unknown.group(1), [field.encode_name for field in _fields(kind)], 1)
                reason, remedy = "no key is called so here", f"did you mean {near[0]!r}?" if near else "leave it out"
            elif missing:
                reason, remedy = f"{missing.group(1)!r} is missing", f"add {missing.group(1)} = ..."
            self.say((*at, *inside), reason[:1].lower() + reason[1:], remedy)
            return None

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

    def _add(self, line: int | None, key: str, reason: str, remedy: str) -> None:
        self.problems.append(RulesProblem(file=self._name, line=line, key=key, reason=reason, remedy=remedy))


def _fields(kind: Any) -> tuple[Any, ...]:
    return msgspec.structs.fields(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def _steps(path: str) -> list[str | int]:
    """The keys and indices of a path as msgspec writes it: ``alternatives[0].value``."""
    return [
        int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path) if name or index
    ]
