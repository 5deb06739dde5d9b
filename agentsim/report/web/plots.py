"""Plots as SVG, drawn by hand: lines over numbers, and bars. They load nothing and run nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from agentsim.report.clean import clean, display_width
from agentsim.report.figures import short

if TYPE_CHECKING:
    from agentsim.engine.lab.experiment import BarPlot, LinePlot, Plot

WIDTH, HEIGHT = 760, 330
LEFT, RIGHT, TOP, BOTTOM = 78, 40, 52, 46
TOP_OF_LINES = 66
COLOURS = ("#6cb6ff", "#e2b25c", "#7fc670", "#f26d6d", "#c297e8", "#62c6c0")
BAR_HEIGHT, BAR_GAP = 20, 8
_LETTER = 6.9
"""Width of a letter at 12 px, near enough to make room."""

_STYLE = (
    "text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;fill:#b8bdc9}"
    ".t{font-size:14px;font-weight:600;fill:#f2f4f8}.a{fill:#868d9b}.g{stroke:#2b2f38;fill:none}"
    ".l{fill:none;stroke-width:2;stroke-linejoin:round}"
)

Scale = Callable[[float], float]


def svg(plot: Plot) -> str:
    """A plot as an SVG document."""
    from agentsim.engine.lab.experiment import LinePlot

    return _lines(plot) if isinstance(plot, LinePlot) else _bars(plot)


def _lines(plot: LinePlot) -> str:
    series = [
        (one.name, [(x, y) for x, y in one.points if (x > 0 or not plot.log_x) and (y > 0 or not plot.log_y)])
        for one in plot.series
    ]
    points = [point for _, its in series for point in its] or [(1.0, 1.0)]
    x_ticks = _ticks([x for x, _ in points], plot.log_x)
    y_ticks = _ticks([y for _, y in points], plot.log_y, from_zero=True)
    across = _scale(x_ticks, LEFT, WIDTH - RIGHT, plot.log_x)
    up = _scale(y_ticks, HEIGHT - BOTTOM, TOP_OF_LINES, plot.log_y)
    parts = [_text(16, 24, plot.title, "t")]
    for tick in y_ticks:
        y = up(tick)
        parts.append(f'<path class="g" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 8, y + 4, short(tick), "a", "end"))
    for tick in x_ticks:
        parts.append(_text(across(tick), HEIGHT - BOTTOM + 18, short(tick), "a", "middle"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 10, plot.x, "a", "end"))
    parts.append(_text(16, 44, plot.y, "a"))
    place = WIDTH - RIGHT - sum(_LETTER * len(name) + 30 for name, _ in series)
    for number, (name, its) in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        if its:
            path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in its)
            parts.append(f'<path class="l" stroke="{colour}" d="M{path}"/>')
        if len(its) <= 40:
            parts += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>' for x, y in its]
        parts.append(f'<rect x="{place:.1f}" y="35" width="12" height="10" rx="2" fill="{colour}"/>')
        parts.append(_text(place + 17, 44, name))
        place += _LETTER * len(name) + 30
    return _document(plot.title, HEIGHT, parts)


def _bars(plot: BarPlot) -> str:
    room = max((display_width(clean(name)) for name, _ in plot.bars), default=0)
    left = min(24 + _LETTER * room, WIDTH * 0.5)
    height = TOP + len(plot.bars) * (BAR_HEIGHT + BAR_GAP) + 14
    values = [value for _, value in plot.bars if value > 0 or not plot.log_y] or [1.0]
    low = 10 ** math.floor(math.log10(min(values)) - 0.5) if plot.log_y else 0.0
    high = max(values) or 1.0

    def length(value: float) -> float:
        space = WIDTH - RIGHT - left - 76
        if plot.log_y:
            whole = math.log10(high / low)
            return space * math.log10(value / low) / whole if value > low else 0.0
        return space * max(value, 0.0) / high

    parts = [_text(16, 24, plot.title, "t"), _text(16, 42, plot.y + (", logarithmic" if plot.log_y else ""), "a")]
    for number, (name, value) in enumerate(plot.bars):
        y = TOP + number * (BAR_HEIGHT + BAR_GAP)
        parts.append(_text(left - 8, y + 14, name, "", "end"))
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{max(length(value), 1):.1f}" height="{BAR_HEIGHT}" rx="3" '
            f'fill="{COLOURS[0]}"/>'
        )
        parts.append(_text(left + length(value) + 7, y + 14, short(value)))
    return _document(plot.title, height, parts)


def _ticks(values: Sequence[float], log: bool, *, from_zero: bool = False) -> list[float]:
    low, high = min(values), max(values)
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = max(1, -(-(last - first) // 7))
        ticks = [10.0**power for power in range(first, last + step, step)]
        return ticks if len(ticks) > 1 else [*ticks, ticks[0] * 10]
    if from_zero and low > 0:
        low = 0.0
    if high <= low:
        high = low + 1
    rough = (high - low) / 5
    unit = 10 ** math.floor(math.log10(rough))
    step_size = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = math.floor(low / step_size)
    return [round(step_size * n, 12) for n in range(first, math.ceil(high / step_size) + 1)]


def _scale(ticks: Sequence[float], start: float, stop: float, log: bool) -> Scale:
    def level(value: float) -> float:
        return math.log10(value) if log else value

    low, high = level(ticks[0]), level(ticks[-1])
    return lambda value: start + (level(value) - low) / (high - low) * (stop - start)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(clean(text))}</text>'


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    card = f'<rect width="{WIDTH}" height="{height}" rx="9" fill="#16181d" stroke="#2b2f38"/>'
    lines = [head, f"<title>{escape(clean(title))}</title>", f"<style>{_STYLE}</style>", card, *parts, "</svg>", ""]
    return "\n".join(lines)
