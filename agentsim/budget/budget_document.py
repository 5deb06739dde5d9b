"""The shape of a configuration as it is written. Import it where one is read: pydantic takes a while to load."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from agentsim.budget import budget_limits, exact_amounts
from agentsim.budget.exact_amounts import AllowedGrowth
from agentsim.budget.file_globs import pattern


class KeyFault(ValueError):
    """What is wrong with one key inside a value: the key or the index, and the reason."""

    def __init__(self, key: str | int, reason: str, unknown: bool = False) -> None:
        super().__init__(reason)
        self.key = key
        self.unknown = unknown


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


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
            known = ", ".join(GROWTHS)
            raise KeyFault(key, f"one of {known}{budget_limits.nearest(key, GROWTHS)}", unknown=True)
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


Dollars = Annotated[int, BeforeValidator(exact_amounts.dollars)]
Tokens = Annotated[int, BeforeValidator(exact_amounts.tokens)]
Count = Annotated[int, BeforeValidator(exact_amounts.count)]
Share = Annotated[Fraction, BeforeValidator(exact_amounts.share)]
Text = Annotated[str, BeforeValidator(_text)]
Globs = Annotated[tuple[str, ...], BeforeValidator(_globs)]
Misses = Annotated[tuple[tuple[str | None, int], ...], BeforeValidator(_misses)]
Causes = Annotated[tuple[str, ...], BeforeValidator(_causes)]
Growths = Annotated[tuple[tuple[budget_limits.Metric, AllowedGrowth], ...], BeforeValidator(_growths)]


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=_hyphens, arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that may be written."""
        return [_hyphens(name) for name in cls.model_fields]


class BudgetTable(_Table):
    """One ``[[budget]]``."""

    name: Text | None = None
    traces: Globs = ()
    judge: Literal["each", "together"] = "each"
    level: Literal["error", "warn"] = "error"
    allow_skipped: Count = 0
    max_cost: Dollars | None = None
    max_input_equivalents: Tokens | None = None
    min_hit_rate: Share | None = None
    max_misses: Misses = ()
    max_lost_cost: Dollars | None = None
    forbid: Causes = ()
    max_growth: Growths = ()


class Document(_Table):
    """The whole file, or the table ``[tool.agentsim]``."""

    traces: Globs = ()
    baseline: Text | None = None
    budget: list[BudgetTable] = []


TABLES: dict[int, type[_Table]] = {0: Document, 2: BudgetTable}
"""Which table a key of a path belongs to, by how deep it stands: ``baseline``, ``budget.0.max-cost``."""


def faults(error: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """The path and the reason of each fault in a ValidationError."""
    return [_fault(item) for item in error.errors(include_url=False)]


def _fault(item: dict[str, Any]) -> tuple[tuple[str | int, ...], str]:
    path: tuple[str | int, ...] = item["loc"]
    cause = item.get("ctx", {}).get("error")
    if isinstance(cause, KeyFault):
        if cause.unknown:
            return (*path, cause.key), f"unknown key; {cause}"
        return (*path, cause.key), str(cause)
    if item["type"] == "extra_forbidden":
        known = TABLES[len(path) - 1].keys() if len(path) - 1 in TABLES else []
        return path, f"unknown key{budget_limits.nearest(str(path[-1]), known)}"
    if isinstance(cause, ValueError):
        return path, str(cause)
    if item["type"] == "literal_error":
        return path, f"must be {item['ctx']['expected']}"
    if path == ("budget",):
        return path, "must be an array of tables: write [[budget]]"
    return path, "must be a table" if item["type"] in ("model_type", "model_attributes_type") else item["msg"]
