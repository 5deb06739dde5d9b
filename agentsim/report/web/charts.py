"""Charts as SVG text, for a page that loads nothing. Colours are those of the page's style; every text is made safe."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from agentsim.report.clean import clean, display_width
from agentsim.report.figures import short

CHART_COLOURS = """
:root{color-scheme:light dark;--ink:#1c2430;--faint:#5d6b7c;--paper:#fbfbf9;--card:#fff;--rule:#e3e5e2;--accent:#2563a8;
--soft:#2563a822;--bad:#b3412e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--faint:#96a2b2;--paper:#14181e;--card:#1b2129;--rule:#2c343f;
--accent:#6aa9ec;--soft:#6aa9ec26;--bad:#ef8c74}}
"""
CHART_STYLE = """
.bar{fill:var(--accent)}.bad{fill:var(--bad)}.dot{fill:var(--faint)}.name{fill:var(--faint)}.label{fill:var(--ink)}
.axis{stroke:var(--faint);fill:none}.grid{stroke:var(--rule);fill:none;stroke-dasharray:4 4;stroke-width:1.5}
.whisker{stroke:var(--ink);fill:none;stroke-width:1.5;paint-order:stroke}.line{stroke:var(--accent);stroke-width:2.5;fill:none}
.area{fill:var(--soft)}
"""
LINE_COLOURS = ("var(--accent)", "#b9821f", "#3f8f35", "#c94a4a", "#8a5fc7", "#2a918c")

WIDTH = 760
_ROW = 26
_CHARACTER = 6.6
"""Pixels of a character at the size of labels."""


class Bar(NamedTuple):
    """A bar: its name, its value, what is written beside it, and the ends of its interval where it has one."""

    name: str
    value: float
    label: str
    low: float | None = None
    high: float | None = None


Points = Sequence[tuple[float, float]]
Scale = Callable[[float], float]


class ScatterPoint(NamedTuple):
    """A point of a scatter: its name, where it lies, and whether it is on the frontier."""

    name: str
    x: float
    y: float
    best: bool


def safe(text: str) -> str:
    """Text of outside as a part of a page."""
    return escape(clean(text), quote=True)


def bars(bars: Sequence[Bar], title: str, *, log: bool = False) -> str:
    """Horizontal bars, one a row; negative values go left of the axis. Whiskers show intervals.

    ``log``: their lengths are logarithms, from half a decade below the least one on; a value of 0 has no length.
    """
    if not bars:
        return ""
    if log:
        least = min((bar.value for bar in bars if bar.value > 0), default=1.0)
        start = math.floor(math.log10(least) - 0.5)
        bars = [bar._replace(value=math.log10(bar.value) - start if bar.value > 0 else 0.0) for bar in bars]
    name_width = min(330.0, max(_length(bar.name) for bar in bars) + 14)
    label_width = max(_length(bar.label) for bar in bars) + 16
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
    least, most = min(0.0, *ends), max(0.0, *ends)
    room = WIDTH - name_width - label_width
    scale = room / (most - least) if most > least else 0.0
    zero = name_width - least * scale
    height = _ROW * len(bars) + 6
    parts = [_open(WIDTH, height, title)]
    for number, bar in enumerate(bars):
        top = number * _ROW + 4
        middle = top + 9
        left, right = sorted((zero, zero + bar.value * scale))
        kind = "bad" if bar.value < 0 else "bar"
        parts.append(_text("name", name_width - 8, middle + 4, bar.name, "end"))
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{max(right - left, 1):.1f}" height="18" rx="3"/>'
        )
        if bar.low is not None and bar.high is not None:
            one, other = zero + bar.low * scale, zero + bar.high * scale
            ends_at = f"M{one:.1f} {middle - 4}v8M{other:.1f} {middle - 4}v8"
            parts.append(f'<path class="whisker" d="M{one:.1f} {middle}H{other:.1f}{ends_at}"/>')
        beside = max(right, zero + (bar.high or 0) * scale, zero) + 7
        parts.append(_text("label", beside, middle + 4, bar.label))
    parts.append(f'<path class="axis" d="M{zero:.1f} 0V{height}"/>')
    return "".join([*parts, "</svg>"])


def columns(bars: Sequence[Bar], title: str) -> str:
    """Upright columns in their order: for time. Names are thinned where there is no room for all."""
    if not bars:
        return ""
    height, foot, head = 190.0, 26, 20
    most = max(bar.value for bar in bars) or 1.0
    step = (WIDTH - 20) / len(bars)
    width = min(step * 0.7, 48)
    every = max(1, -(-70 // max(int(step), 1)))
    told = _apart([_across(step, number, bar.label) for number, bar in enumerate(bars)], bars, every)
    parts = [_open(WIDTH, int(height), title)]
    free = 0.0
    for number, bar in enumerate(bars):
        centre = 10 + step * (number + 0.5)
        tall = (height - foot - head) * bar.value / most
        top = height - foot - tall
        parts.append(
            f'<rect class="bar" x="{centre - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{max(tall, 1):.1f}" rx="3"><title>{safe(bar.name)}: {safe(bar.label)}</title></rect>'
        )
        begin, end = _across(step, number, bar.name)
        if number % every == 0 and begin >= free:
            parts.append(_text("name", (begin + end) / 2, height - 9, bar.name, "middle"))
            free = end + 4
        if number in told:
            parts.append(_text("label", sum(_across(step, number, bar.label)) / 2, top - 5, bar.label, "middle"))
    parts.append(f'<path class="axis" d="M10 {height - foot}H{WIDTH - 10}"/>')
    return "".join([*parts, "</svg>"])


def _length(text: str) -> float:
    """About how many pixels a text takes; capitals are wider than most."""
    shown = clean(text)
    return (display_width(shown) + 0.3 * sum(letter.isupper() for letter in shown)) * _CHARACTER


def _across(step: float, number: int, text: str) -> tuple[float, float]:
    """From where to where a text over a column reaches: at its middle, and inside of the chart."""
    wide = _length(text)
    begin = min(max(10 + step * (number + 0.5) - wide / 2, 0), WIDTH - wide)
    return begin, begin + wide


def _apart(places: Sequence[tuple[float, float]], bars: Sequence[Bar], every: int) -> set[int]:
    """The columns that are labelled: all where there is room for it, else the tallest three, none over another."""
    order = sorted(range(len(bars)), key=lambda number: -bars[number].value)
    told: set[int] = set()
    for number in order if every == 1 else order[:3]:
        begin, end = places[number]
        if all(end < places[other][0] or begin > places[other][1] for other in told):
            told.add(number)
    return told


def curve(points: Points, title: str, across: str, up: str) -> str:
    """A curve from (0, 0) to (1, 1), with the line of equal shares."""
    side, left, foot = 300, 46, 40
    width, height = side + left + 14, side + foot + 10

    def place(point: tuple[float, float]) -> str:
        return f"{left + point[0] * side:.1f} {10 + (1 - point[1]) * side:.1f}"

    path = "M" + "L".join(place(point) for point in points)
    parts = [_open(width, height, title), f'<path class="grid" d="M{place((0, 0))}L{place((1, 1))}"/>']
    for share in (0.5, 1.0):
        parts.append(f'<path class="grid" d="M{place((0, share))}L{place((1, share))}"/>')
        parts.append(_text("name", left - 7, 14 + (1 - share) * side, f"{share * 100:.0f} %", "end"))
    parts += [
        f'<path class="axis" d="M{place((0, 1))}L{place((0, 0))}L{place((1, 0))}"/>',
        f'<path class="area" d="{path}L{place((1, 0))}L{place((0, 0))}Z"/><path class="line" d="{path}"/>',
        _text("name", left, side + 26, "0 %"),
        _text("name", left + side, side + 26, "100 %", "end"),
        _text("name", left + side / 2, side + 42, across, "middle"),
        _text("name", left + side - 8, side - 4, up, "end"),
    ]
    return "".join([*parts, "</svg>"])


def scatter(points: Sequence[ScatterPoint], title: str, across: str, up: str, ends: Sequence[str]) -> str:
    """Points with names where there is room for them; those on the frontier are joined.

    ``ends`` are the words at the ends of the axes: left, right, bottom, top.
    """
    height, left, foot = 330, 92, 44
    right = WIDTH - 30
    xs, ys = [point.x for point in points], [point.y for point in points]
    least_x, most_x = _widened(min(xs), max(xs))
    least_y, most_y = _widened(min(ys), max(ys))

    def place(point: ScatterPoint) -> tuple[float, float]:
        return (
            left + 14 + (point.x - least_x) / (most_x - least_x) * (right - left - 150),
            14 + (most_y - point.y) / (most_y - least_y) * (height - foot - 30),
        )

    parts = [_open(WIDTH, height, title)]
    frontier = sorted((place(point) for point in points if point.best), key=lambda at: at[0])
    if len(frontier) > 1:
        parts.append('<path class="grid" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in frontier) + '"/>')
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: (not point.best, point.y)):
        x, y = place(point)
        kind = "bar" if point.best else "dot"
        title = f"<title>{safe(point.name)}</title>"
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5">{title}</circle>')
        wide = _length(point.name)
        if all(abs(y - other) > 12 or x > end or x + wide + 10 < begin for begin, end, other in taken):
            taken.append((x, x + wide + 10, y))
            parts.append(_text("name", x + 9, y + 4, point.name))
    bottom = height - foot
    parts.append(f'<path class="axis" d="M{left} 6V{bottom}H{right}"/>')
    low, high, under, over = ends
    parts.append(_text("name", left, bottom + 16, low))
    parts.append(_text("name", right, bottom + 16, high, "end"))
    parts.append(_text("name", (left + right) / 2, bottom + 34, across, "middle"))
    parts.append(_text("name", left - 7, bottom - 2, under, "end"))
    parts.append(_text("name", left - 7, 16, over, "end"))
    parts.append(_text("name", left + 8, 16, up))
    return "".join([*parts, "</svg>"])


def lines(
    series: Sequence[tuple[str, Points]], title: str, across: str, up: str, *, log_x: bool = False, log_y: bool = False
) -> str:
    """A line for each series over numbers, with their names. A logarithmic axis leaves out what is not above zero.

    ``across`` and ``up`` are the words of the axes.
    """
    height, left, right, top, foot = 286, 62, WIDTH - 24, 34, 46
    shown = [
        (name, [(x, y) for x, y in points if (x > 0 or not log_x) and (y > 0 or not log_y)]) for name, points in series
    ]
    points = [point for _, its in shown for point in its] or [(1.0, 1.0)]
    x_ticks = _ticks([x for x, _ in points], log_x)
    y_ticks = _ticks([y for _, y in points], log_y, from_zero=True)
    x_of, y_of = _scale(x_ticks, left, right, log_x), _scale(y_ticks, height - foot, top, log_y)
    parts = [_open(WIDTH, height, title)]
    for tick in y_ticks:
        parts.append(f'<path class="grid" d="M{left} {y_of(tick):.1f}H{right}"/>')
        parts.append(_text("name", left - 8, y_of(tick) + 4, short(tick), "end"))
    parts += [_text("name", x_of(tick), height - foot + 18, short(tick), "middle") for tick in x_ticks]
    parts += [_text("name", right, height - 10, across, "end"), _text("name", 0, 12, up)]
    place = right - sum(_length(name) + 30 for name, _ in shown)
    for number, (name, its) in enumerate(shown):
        colour = LINE_COLOURS[number % len(LINE_COLOURS)]
        if its:
            path = "L".join(f"{x_of(x):.1f} {y_of(y):.1f}" for x, y in its)
            parts.append(f'<path class="line" style="stroke:{colour}" d="M{path}"/>')
        if len(its) <= 40:
            parts += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>' for x, y in its]
        parts.append(f'<rect x="{place:.1f}" y="3" width="12" height="10" rx="2" fill="{colour}"/>')
        parts.append(_text("label", place + 17, 12, name))
        place += _length(name) + 30
    return "".join([*parts, "</svg>"])


def picture(chart: str, title: str, note: str = "") -> str:
    """A chart as an SVG document of its own, with its title above it."""
    size = re.match(r'<svg viewBox="0 0 (\d+) (\d+)"', chart)
    width, height = (int(size[1]), int(size[2])) if size else (WIDTH, 0)
    wide, tall = width + 32, height + 70
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}">',
        f"<title>{safe(title)}</title>",
        f"<style>{CHART_COLOURS}{CHART_STYLE}text{{font:12px system-ui,sans-serif}}</style>",
        f'<rect width="{wide}" height="{tall}" rx="9" fill="var(--card)" stroke="var(--rule)"/>',
        _text("label", 16, 24, title), _text("name", 16, 42, note),
        chart.replace("<svg ", '<svg x="16" y="54" ', 1), "</svg>", "",
    ])  # fmt: skip


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


def _widened(least: float, most: float) -> tuple[float, float]:
    return (least, most) if most > least else (least - 1, most + 1)


def _open(width: int, height: int, title: str) -> str:
    # On a narrow screen a wide chart is scrolled, not shrunk until nobody can read it.
    kind = ' class="wide"' if width >= WIDTH else ""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {size}{kind} role="img"><title>{safe(title)}</title>'


def _text(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_cut(text)}</text>'


def _cut(name: str) -> str:
    return escape(clean(name, 46), quote=True)
