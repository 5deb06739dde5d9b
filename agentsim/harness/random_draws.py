"""Sizes and durations that a plan leaves to chance: whole numbers, computed without the platform's mathematics.

``exp`` and ``log`` differ in their last bit between platforms. The quantiles of a distribution are therefore tabulated
once, in decimal arithmetic, and a draw is an interpolation between two whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Protocol

from agentsim.harness.random_streams import BITS, Stream

QUANTILES = 512
"""Parts that a distribution is tabulated in. Nothing beyond its 1/1,024 and 1,023/1,024 quantiles is ever drawn."""

_PRECISION = 20
_P95 = Decimal("1.6448536269514722")
"""The standard normal distribution has 95 % of its weight below this."""

_ROOT_TWO_PI = Decimal("2.5066282746310005024")


class Draw(Protocol):
    """A whole number each time it is asked: tokens, nanoseconds or a count."""

    def draw(self, stream: Stream) -> int:
        """The next number."""
        ...

    @property
    def fixed(self) -> int | None:
        """The number, where it is always the same one."""
        ...


class FixedNumber:
    """Always the same number; draws nothing from the stream."""

    __slots__ = ("fixed",)

    def __init__(self, value: int) -> None:
        self.fixed: int | None = value

    def draw(self, stream: Stream) -> int:
        """The number."""
        assert self.fixed is not None
        return self.fixed


class Uniform:
    """Each whole number from ``low`` to ``high`` with the same probability."""

    __slots__ = ("_low", "_span")
    fixed = None

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self._span = high - low + 1

    def draw(self, stream: Stream) -> int:
        """The next number; spans beyond 2**32 (durations in nanoseconds) are cut into 2**32 equal steps."""
        return self._low + ((stream.bits() * self._span) >> BITS)


class QuantileTable:
    """A distribution given by its quantiles, at equal steps of probability; linear in between."""

    __slots__ = ("_table", "_top")
    fixed = None

    def __init__(self, table: Sequence[int]) -> None:
        self._table = tuple(table)
        self._top = len(table) - 1

    def draw(self, stream: Stream) -> int:
        """The next number."""
        place = stream.bits() * self._top
        index = place >> BITS
        low = self._table[index]
        return low + (((self._table[index + 1] - low) * (place & 0xFFFFFFFF)) >> BITS) if index < self._top else low


class ChosenDraw:
    """One of the numbers given (an empirical distribution), each with the same probability."""

    __slots__ = ("_values",)
    fixed = None

    def __init__(self, values: Sequence[int]) -> None:
        self._values = tuple(values)

    def draw(self, stream: Stream) -> int:
        """The next number."""
        return self._values[stream.below(len(self._values))]


@lru_cache(maxsize=256)  # scenarios name the same few distributions again and again, and a table takes milliseconds
def lognormal(median: Decimal, p95: Decimal, *, unit: int = 1, low: int = 0, high: int | None = None) -> Draw:
    """The lognormal distribution with this median and 95 % quantile, in whole numbers of 1/``unit``, clipped."""
    with localcontext() as context:
        context.prec = _PRECISION
        growth = (p95 / median).ln() / _P95
        values = [int((median * (growth * z).exp() * unit).to_integral_value()) for z in _normal_quantiles()]
    return QuantileTable([max(low, value if high is None else min(value, high)) for value in values])


@lru_cache(maxsize=1)
def _normal_quantiles() -> tuple[Decimal, ...]:
    """Quantiles of the standard normal distribution at (i + 1/2) / (QUANTILES + 1).

    Each is found by Newton's method from the one before it, on the power series of the distribution function.
    """
    with localcontext() as context:
        context.prec = _PRECISION
        count = QUANTILES + 1
        above: list[Decimal] = []
        z = Decimal(0)
        for index in range(count // 2, count):
            target = (Decimal(index) + Decimal("0.5")) / count
            while True:
                density = (-z * z / 2).exp() / _ROOT_TWO_PI
                step = (target - _below(z, density)) / density
                z += step
                if abs(step) < Decimal("1e-12"):
                    break
            z = round(z, 10)  # the last digits depend on how many steps were taken
            above.append(z)
        below = [-value for value in reversed(above)]
        return tuple(below[:-1] + above if count % 2 else below + above)


def _below(z: Decimal, density: Decimal) -> Decimal:
    term = total = z
    factor = 1
    while abs(term) > Decimal("1e-18"):
        factor += 2
        term = term * z * z / factor
        total += term
    return Decimal("0.5") + density * total
