"""The shape of a configuration as it is written."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated

import msgspec

from agentsim.budget import budget_limits, exact_amounts
from agentsim.budget.exact_amounts import AllowedGrowth
from agentsim.budget.file_globs import pattern
from agentsim.core.near_words import did_you_mean
from agentsim.core.written_types import KeyFault, WrittenForm


def _globs(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise ValueError('must be a pattern of file names or a list of them, such as "recordings/*.jsonl"')
    for number, item in enumerate(listed):
        if not isinstance(item, str):
            raise KeyFault(number, "must be a pattern of file names")
        try:
            pattern(item)
        except ValueError as error:
            raise KeyFault(number, f"the pattern {item[:60]!r} {error}") from None
    return tuple(listed)


def _misses(value: object) -> tuple[tuple[str | None, int], ...]:
    """Counts by cause; the cause of the total is ``None``."""
    if not isinstance(value, dict):
        return ((None, exact_amounts.count(value)),)
    found: list[tuple[str | None, int]] = []
    for key, number in value.items():
        try:
            name = None if key == "total" else budget_limits.cause_name(key)
        except ValueError as error:
            raise KeyFault(key, str(error)) from None
        try:
            found.append((name, exact_amounts.count(number)))
        except ValueError as error:
            raise KeyFault(key, str(error)) from None
    return tuple(found)


def _causes(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        raise ValueError('must be a list of causes, such as ["AS103", "AS1xx"]')
    found = []
    for number, item in enumerate(listed):
        try:
            found.append(budget_limits.cause_name(item))
        except ValueError as error:
            raise KeyFault(number, str(error)) from None
    return tuple(found)


GROWTHS: dict[budget_limits.Metric, Callable[[object], AllowedGrowth]] = {
    "cost": exact_amounts.growth_in_dollars,
    "input-equivalents": exact_amounts.growth_in_tokens,
    "misses": exact_amounts.growth_in_counts,
}


def _growths(value: object) -> tuple[tuple[budget_limits.Metric, AllowedGrowth], ...]:
    """What may grow by how much. A bare value is about the cost; a list holds limits that all count."""
    if not isinstance(value, dict):
        return tuple(("cost", growth) for growth in _several(value, "cost"))
    found: list[tuple[budget_limits.Metric, AllowedGrowth]] = []
    for key, wanted in value.items():
        if key not in GROWTHS:
            raise KeyFault(key, "no such key", did_you_mean(key, GROWTHS, "there are " + ", ".join(GROWTHS)))
        try:
            found += [(key, growth) for growth in _several(wanted, key)]
        except ValueError as error:
            raise KeyFault(key, str(error)) from None
    return tuple(found)


def _several(value: object, metric: budget_limits.Metric) -> list[AllowedGrowth]:
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise ValueError('must be a growth, such as "5%"')
    return [GROWTHS[metric](item) for item in listed]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise ValueError("must be a short text")
    return value


Dollars = Annotated[int, WrittenForm(exact_amounts.dollars)]
Tokens = Annotated[int, WrittenForm(exact_amounts.tokens)]
Count = Annotated[int, WrittenForm(exact_amounts.count)]
Share = Annotated[Fraction, WrittenForm(exact_amounts.share)]
Text = Annotated[str, WrittenForm(_text)]
Globs = Annotated[tuple[str, ...], WrittenForm(_globs)]
Misses = Annotated[tuple[tuple[str | None, int], ...], WrittenForm(_misses)]
Causes = Annotated[tuple[str, ...], WrittenForm(_causes)]
Growths = Annotated[tuple[tuple[budget_limits.Metric, AllowedGrowth], ...], WrittenForm(_growths)]


class BudgetTable(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """One ``[[budget]]``."""

    name: Text | None = None
    traces: Globs = ()
    judge: budget_limits.Judge = "each"
    level: budget_limits.Level = "error"
    allow_skipped: Count = 0
    max_cost: Dollars | None = None
    max_input_equivalents: Tokens | None = None
    min_hit_rate: Share | None = None
    max_misses: Misses = ()
    max_lost_cost: Dollars | None = None
    forbid: Causes = ()
    max_growth: Growths = ()


class BudgetDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file, or the table ``[tool.agentsim]``."""

    traces: Globs = ()
    baseline: Text | None = None
    budget: tuple[BudgetTable, ...] = ()
