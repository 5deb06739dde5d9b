"""Numbers of a scenario that may be left to chance: fixed, uniform, lognormal or empirical."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agentsim.harness.random_draws import ChosenDraw, Draw, Fixed, Uniform, lognormal

LARGEST = Decimal(10**12)
"""Nothing in a scenario is larger: tokens, seconds or counts."""

Number = Annotated[Decimal, Field(ge=0, le=LARGEST, allow_inf_nan=False)]

KINDS = ("fixed", "uniform", "lognormal", "empirical")


class ScenarioTable(BaseModel):
    """What all tables of a scenario have in common: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lognormal(ScenarioTable):
    """A lognormal distribution, by its median and the value that 95 % lie below; clipped to [min, max]."""

    median: Annotated[Decimal, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
    p95: Annotated[Decimal, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
    min: Number = Decimal(0)
    max: Number | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Lognormal:
        if self.p95 < self.median:
            raise ValueError("p95 is below the median")
        if self.max is not None and self.max < self.min:
            raise ValueError("max is below min")
        return self


class Distribution(ScenarioTable):
    """A number: written alone it is fixed; else one of ``uniform = [from, to]``, ``lognormal = {median, p95}`` and
    ``empirical = [values]``."""

    fixed: Number | None = None
    uniform: tuple[Number, Number] | None = None
    lognormal: Lognormal | None = None
    empirical: Annotated[tuple[Number, ...], Field(min_length=1, max_length=100_000)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return {"fixed": value}
        if isinstance(value, str | bool):
            raise ValueError("expected a number, or a table with one of " + ", ".join(KINDS))
        return value

    @model_validator(mode="after")
    def _one(self) -> Distribution:
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError("expected a number, or a table with one of " + ", ".join(KINDS))
        if self.uniform is not None and self.uniform[1] < self.uniform[0]:
            raise ValueError("uniform: the second number is below the first")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A number alone stands for a fixed one."""
        table = handler.resolve_ref_schema(handler(core_schema))
        return {"anyOf": [{"type": "number", "minimum": 0}, table]}

    def draw(self, unit: int = 1) -> Draw:
        """The distribution in whole numbers of 1/``unit``."""
        if self.fixed is not None:
            return Fixed(whole(self.fixed, unit))
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
