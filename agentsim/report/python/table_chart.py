"""A chart of two columns of a table, for notebooks: one SVG that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from agentsim.report.web.charts import Bar, bars, columns, picture


class TableChart:
    """A chart as SVG; a notebook shows it by itself."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def __repr__(self) -> str:
        return f"<chart, {len(self.svg):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg


def chart_of(pairs: Iterable[tuple[Any, Any]], title: str, *, upright: bool) -> TableChart:
    """Bars for names with their values. Pairs without a value are left out.

    Raises TypeError for a value that is no number.
    """
    made = [Bar(_name(name), _number(value), _label(value)) for name, value in pairs if value is not None]
    return TableChart(picture(columns(made, title) if upright else bars(made, title), title))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"a chart needs numbers, and this is none: {value!r:.60}")
    return float(value)


def _name(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return "–" if value is None else str(value)


def _label(value: Any) -> str:
    return f"${value:,.4f}" if isinstance(value, Decimal) else f"{value:,}"
