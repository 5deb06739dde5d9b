"""What an experiment is and what it finds: values, apart from how they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

Value = str | int | float | bool | None
"""A cell of a table. ``None``: unknown, or it does not apply."""


class Holds(Enum):
    """How a measured figure is held against the published one."""

    EXACTLY = "exactly"
    CLOSELY = "closely"
    """Within ``tolerance``, absolute."""
    AT_MOST = "at most"
    MACHINE = "by machine"
    """It depends on hardware, weights or library: shown beside, never judged."""


class FigureAgreement(Enum):
    """What became of the comparison."""

    SAME = "same"
    DIFFERS = "differs"
    MACHINE = "depends on the machine"
    UNPUBLISHED = ""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A figure that stands in the literature, with how a measurement is held against it."""

    value: Value
    holds: Holds = Holds.EXACTLY
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A measured figure. Its name is the key of the published one, where there is one."""

    name: str
    value: Value
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows of values under titled columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: a row of {len(row)} cells under {len(self.columns)} columns")


@dataclass(frozen=True, slots=True)
class Series:
    """A named line, or the bars of one colour: a y for each x."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LinePlot:
    """Lines over numbers. A logarithmic axis leaves out what is not above zero."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class BarPlot:
    """One bar for each label."""

    title: str
    y: str
    bars: tuple[tuple[str, float], ...]
    log_y: bool = False


Plot = LinePlot | BarPlot


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment found."""

    figures: tuple[MeasuredFigure, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()

    def value(self, name: str) -> Value:
        """The figure of that name. Raises KeyError."""
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class LabSettings:
    """How to run. ``brief`` takes smaller inputs: the mechanisms are the same, figures of the machine are not."""

    seed: int = 20_261_129
    brief: bool = False
    weights: str | None = None
    """A GGUF file; ``None`` takes the default model, ``tiny`` the seeded one."""
    progress: Callable[[str], None] | None = None

    def say(self, what: str) -> None:
        """Tell whoever waits what is being done."""
        if self.progress is not None:
            self.progress(what)


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: what it asks, what it establishes and what it does not, and what was published."""

    name: str
    title: str
    meaning: str
    run: Callable[[LabSettings], Findings]
    published: Mapping[str, PublishedFigure] = field(default_factory=dict)
    needs_model: bool = False
    """It runs a real model, whose weights must be there."""


def agreement(measured: Value, published: PublishedFigure | None) -> FigureAgreement:
    """Hold a measured value against the published one."""
    if published is None:
        return FigureAgreement.UNPUBLISHED
    if published.holds is Holds.MACHINE:
        return FigureAgreement.MACHINE
    if published.holds is Holds.EXACTLY:
        return FigureAgreement.SAME if measured == published.value else FigureAgreement.DIFFERS
    if not isinstance(measured, (int, float)) or not isinstance(published.value, (int, float)):
        return FigureAgreement.DIFFERS
    if published.holds is Holds.AT_MOST:
        return FigureAgreement.SAME if measured <= published.value else FigureAgreement.DIFFERS
    near = math.isclose(measured, published.value, rel_tol=0.0, abs_tol=published.tolerance)
    return FigureAgreement.SAME if near else FigureAgreement.DIFFERS
