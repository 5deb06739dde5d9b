"""Numbers of a scenario that may be left to chance: fixed, uniform, lognormal or empirical."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar

import msgspec

from agentsim.core.written_types import WrittenForm
from agentsim.harness.random_draws import ChosenDraw, Draw, FixedNumber, Uniform, lognormal

LARGEST = Decimal(10**12)
"""Nothing in a scenario is larger: tokens, seconds or counts."""


def decimal_up_to(most: Decimal, *, above: Decimal | None = None) -> WrittenForm:
    """A number from 0 (or above another one) to the largest."""

    def read(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise ValueError("must be a number")
        number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
        if not number.is_finite() or number < 0 or number > most or (above is not None and number <= above):
            raise ValueError(f"must be a number {'from 0' if above is None else f'above {above}'} to {most:,}")
        return number

    least = {"minimum": 0} if above is None else {"exclusiveMinimum": int(above)}
    return WrittenForm(read, {"type": "number", **least, "maximum": int(most)})


Number = Annotated[Decimal, decimal_up_to(LARGEST)]
AboveZero = Annotated[Decimal, decimal_up_to(LARGEST, above=Decimal(0))]

KINDS = ("fixed", "uniform", "lognormal", "empirical")


class ScenarioTable(msgspec.Struct, frozen=True, kw_only=True):
    """What all tables of a scenario have in common: values never change."""


class Lognormal(ScenarioTable, frozen=True, kw_only=True):
    """A lognormal distribution, by its median and the value that 95 % lie below; clipped to [min, max]."""

    median: AboveZero
    p95: AboveZero
    min: Number = Decimal(0)
    max: Number | None = None

    def __post_init__(self) -> None:
        if self.p95 < self.median:
            raise ValueError("p95 is below the median")
        if self.max is not None and self.max < self.min:
            raise ValueError("max is below min")


class Distribution(ScenarioTable, frozen=True, kw_only=True):
    """A number: written alone it is fixed; else one of ``uniform = [from, to]``, ``lognormal = {median, p95}`` and
    ``empirical = [values]``."""

    ALONE: ClassVar[dict[str, Any]] = {"type": "number", "minimum": 0}

    fixed: Number | None = None
    uniform: tuple[Number, Number] | None = None
    lognormal: Lognormal | None = None
    empirical: Annotated[tuple[Number, ...], msgspec.Meta(min_length=1, max_length=100_000)] | None = None

    @classmethod
    def from_written(cls, value: Any) -> Any:
        """A number alone is a fixed one."""
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return {"fixed": value}
        if not isinstance(value, dict):
            raise ValueError("expected a number, or a table with one of " + ", ".join(KINDS))
        return value

    def __post_init__(self) -> None:
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError("expected a number, or a table with one of " + ", ".join(KINDS))
        if self.uniform is not None and self.uniform[1] < self.uniform[0]:
            raise ValueError("uniform: the second number is below the first")

    def draw(self, unit: int = 1) -> Draw:
        """The distribution in whole numbers of 1/``unit``."""
        if self.fixed is not None:
            return FixedNumber(whole(self.fixed, unit))
        if self.uniform is not None:
            return Uniform(whole(self.uniform[0], unit), whole(self.uniform[1], unit))
        if self.empirical is not None:
            return ChosenDraw([whole(value, unit) for value in self.empirical])
        law = self.lognormal
        assert law is not None
        high = whole(LARGEST if law.max is None else law.max, unit)
        return lognormal(law.median, law.p95, unit=unit, low=whole(law.min, unit), high=high)


def whole(value: Decimal, unit: int = 1) -> int:
    """A number in units, rounded half to even."""
    return int((value * unit).to_integral_value())


def number(value: int | str) -> Distribution:
    """A fixed number, for defaults."""
    return Distribution(fixed=Decimal(value))
