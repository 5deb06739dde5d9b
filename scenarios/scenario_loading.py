"""Scenario files: find, read, check, and vary them. Importing this module imports pydantic."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from agentsim.harness.plan import Plan
from agentsim.scenarios import bundled_scenarios
from agentsim.scenarios.parameter_sweeps import SweepError, cells, parse_setting
from agentsim.scenarios.scenario_build import plan_of
from agentsim.scenarios.scenario_places import known_keys, line_of, nearest
from agentsim.scenarios.scenario_schema import ScenarioFile

LARGEST = 16 * 2**20
"""Bytes of a scenario file."""


class ScenarioError(ValueError):
    """A scenario that cannot be used: the file, the line and the key where they are known, why, and what to do."""

    def __init__(self, reason: str, *, file: str | None = None, line: int | None = None, remedy: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.line = line
        self.remedy = remedy


class Cell(NamedTuple):
    """One combination of the values that a scenario is tried with, and what it makes of the scenario."""

    name: str
    values: tuple[tuple[str, Any], ...]
    scenario: ScenarioFile

    def plan(self, seed: int | None = None) -> Plan:
        """The plan, under another seed where one is given."""
        return plan_of(self.scenario, self.name, seed)

    @property
    def label(self) -> str:
        """What is different in this cell: ``harness.fan_out.mark=true``."""
        return ", ".join(f"{path}={as_text(value)}" for path, value in self.values)


def load(source: str, settings: Sequence[str] = ()) -> list[Cell]:
    """The cells of a scenario: a file, or the name of a bundled one. ``settings`` are ``KEY=VALUE[,VALUE...]``.

    Raises ScenarioError.
    """
    name, text, file = find(source)
    return parse(text, name, file, settings)


def parse(text: str, name: str, file: str, settings: Sequence[str] = ()) -> list[Cell]:
    """The cells of a scenario given as text. Raises ScenarioError."""
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(
            f"not TOML: {error}", file=file, line=_toml_line(str(error)), remedy="see the line"
        ) from None
    try:
        combinations = cells(document, [parse_setting(setting) for setting in settings])
    except SweepError as error:
        raise ScenarioError(str(error), remedy="as in --set prompt.ttl=5m,1h") from None
    return [Cell(name, values, check(changed, text, file, settings)) for values, changed in combinations]


def check(document: dict[str, Any], text: str, file: str, settings: Sequence[str] = ()) -> ScenarioFile:
    """A document as a scenario. Raises ScenarioError naming the file, the line, the key and the nearest right one."""
    try:
        scenario = ScenarioFile.model_validate(document)
    except ValidationError as error:
        raise _told(error, text, file, settings) from None
    _check_names(scenario, text, file)
    return scenario


def _check_names(scenario: ScenarioFile, text: str, file: str) -> None:
    keep_alive = scenario.harness.keep_alive
    if keep_alive != "off":
        from agentsim.whatif.policies import PolicyError, parse
        from agentsim.whatif.policies.keep_alive import KeepAlive

        line = line_of(text, ("harness", "keep_alive"))
        try:
            if not isinstance(parse(keep_alive), KeepAlive):
                raise PolicyError(f"{keep_alive[:60]!r} is not a keep-alive policy")
        except PolicyError as error:
            raise ScenarioError(
                f"harness.keep_alive: {error}", file=file, line=line, remedy="'agentsim policies' lists them"
            ) from None
    from agentsim.rules.providers import rules_for

    try:
        rules_for(scenario.model.provider, scenario.model.name, None)
    except ValueError as error:
        line = line_of(text, ("model", "provider"))
        raise ScenarioError(
            f"model.provider: {error}", file=file, line=line, remedy="'agentsim rules show' lists them"
        ) from None


def _told(error: ValidationError, text: str, file: str, settings: Sequence[str]) -> ScenarioError:
    found = error.errors(include_url=False, include_input=False)
    # Where a union is not matched, each of its branches complains: the one that got furthest knows best.
    first = max(found, key=lambda one: (one["type"] == "extra_forbidden", len(one["loc"])))
    loc = first["loc"]
    key = ".".join(str(part) for part in _without_tags(loc))
    reason = first["msg"].removeprefix("Value error, ")
    reason = reason[:1].lower() + reason[1:]
    remedy = None
    if first["type"] == "extra_forbidden":
        near = nearest(ScenarioFile, loc)
        reason = "no such key"
        remedy = f"did you mean {near}?" if near else "there are " + ", ".join(known_keys(ScenarioFile, loc[:-1]))
    elif first["type"] == "missing":
        reason = "this key is missing"
        remedy = "'agentsim trace schema --scenario' describes all keys"
    elif first["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in first["ctx"]["expected_tags"].split(",")]
        near_tags = get_close_matches(str(first["ctx"]["tag"]), known, 1, 0.5)
        reason = "no such kind of step"
        remedy = f"did you mean {near_tags[0]}?" if near_tags else "there are " + ", ".join(known)
        loc, key = (*loc, "do"), f"{key}.do"
    elif first["type"].startswith("timezone"):
        remedy = "say which zone, as in 2026-09-01T10:00:00Z"
    set_here = any(
        setting.partition("=")[0].strip() and key.startswith(setting.partition("=")[0]) for setting in settings
    )
    return ScenarioError(
        f"{key}: {reason}" if key else reason,
        file=None if set_here else file,
        line=None if set_here else line_of(text, loc),
        remedy=remedy or ("check --set" if set_here else "correct the value"),
    )


def _without_tags(loc: Sequence[int | str]) -> list[int | str]:
    """A path without the tags of unions, which stand in no file."""
    kept: list[int | str] = []
    for index, part in enumerate(loc):
        is_class = isinstance(part, str) and part[:1].isupper()
        is_tag = index > 0 and isinstance(loc[index - 1], int) and loc[0] == "script" and index == 2
        if not is_class and not is_tag and not (isinstance(part, str) and "[" in part):
            kept.append(part)
    return kept


def find(source: str) -> tuple[str, str, str]:
    """The name, the text and the path of a scenario."""
    known = bundled_scenarios.names()
    if source in known:
        return source, bundled_scenarios.text(source), f"scenarios/{source}.toml"
    if not os.path.lexists(source):
        near = get_close_matches(source, known, 1, 0.5)
        remedy = f"did you mean {near[0]}?" if near else "'agentsim scenario list' lists the bundled ones"
        raise ScenarioError("no such scenario or file", file=source, remedy=remedy)
    try:
        if os.path.getsize(source) > LARGEST:
            raise ScenarioError("larger than a scenario can be", file=source, remedy="name a scenario file")
        with open(source, encoding="utf-8") as file:
            text = file.read(LARGEST)
    except UnicodeDecodeError:
        raise ScenarioError("not UTF-8 text", file=source, remedy="name a scenario file") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError(reason, file=source, remedy="check that it is a file you may read") from None
    name = os.path.basename(source)
    return name.removesuffix(".toml"), text, source


def _toml_line(message: str) -> int | None:
    _, found, rest = message.partition("at line ")
    digits = rest.split(",")[0]
    return int(digits) if found and digits.isdecimal() else None


def as_text(value: Any) -> str:
    """A value of a key as a person writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
