"""Scenario files: find, read, check, and vary them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from agentsim.core.file_problems import WrittenFileError, refused
from agentsim.core.near_words import did_you_mean
from agentsim.core.written_files import WrittenFile, read_text
from agentsim.harness.plan import Plan
from agentsim.scenarios import bundled_scenarios
from agentsim.scenarios.parameter_sweeps import SweepError, cells, parse_setting
from agentsim.scenarios.scenario_build import plan_of
from agentsim.scenarios.scenario_schema import ScenarioFile


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

    Raises WrittenFileError.
    """
    name, text, file = find(source)
    return parse(text, name, file, settings)


def parse(text: str, name: str, file: str, settings: Sequence[str] = ()) -> list[Cell]:
    """The cells of a scenario given as text. Raises WrittenFileError."""
    written = WrittenFile(text, file, parse_float=Decimal)
    try:
        combinations = cells(written.data, [parse_setting(setting) for setting in settings])
    except SweepError as error:
        raise refused(str(error), "as in --set prompt.ttl=5m,1h") from None
    return [Cell(name, values, _checked(changed, written, settings)) for values, changed in combinations]


def _checked(document: dict[str, Any], written: WrittenFile, settings: Sequence[str]) -> ScenarioFile:
    """A variant of a file as a scenario. A mistake in a setting is none of the file."""
    scenario: ScenarioFile = written.fit(document, ScenarioFile)
    if not written.problems:
        _check_names(scenario, written)
    set_keys = [setting.partition("=")[0] for setting in settings]
    written.problems = [
        problem._replace(file=None, line=None) if any(problem.key.startswith(key) for key in set_keys) else problem
        for problem in written.problems
    ]
    written.check()
    return scenario


def _check_names(scenario: ScenarioFile, written: WrittenFile) -> None:
    keep_alive = scenario.harness.keep_alive
    if keep_alive != "off":
        from agentsim.whatif.policies import PolicyError, parse
        from agentsim.whatif.policies.keep_alive import KeepAlive

        try:
            if not isinstance(parse(keep_alive), KeepAlive):
                raise PolicyError(f"{keep_alive[:60]!r} is not a keep-alive policy")
        except PolicyError as error:
            written.say(("harness", "keep_alive"), str(error), "'agentsim policies' lists them")
    from agentsim.rules.providers import rules_for

    try:
        rules_for(scenario.model.provider, scenario.model.name, None)
    except WrittenFileError as error:
        written.say(("model", "provider"), error.first.reason, "'agentsim rules show' lists them")


def find(source: str) -> tuple[str, str, str]:
    """The name, the text and the path of a scenario. Raises WrittenFileError."""
    known = bundled_scenarios.names()
    if source in known:
        return source, bundled_scenarios.text(source), f"scenarios/{source}.toml"
    if not os.path.lexists(source):
        remedy = did_you_mean(source, known, "'agentsim scenario list' lists the bundled ones")
        raise refused("no such scenario or file", remedy, file=source)
    return os.path.basename(source).removesuffix(".toml"), read_text(source), source


def as_text(value: Any) -> str:
    """A value of a key as a person writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
