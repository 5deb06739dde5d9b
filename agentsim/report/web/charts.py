"""Charts as SVG text, for a page that loads nothing. Colours are those of the page's style; every text is made safe."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from agentsim.report.clean import clean, display_width

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


class ScatterPoint(NamedTuple):
    """A point of a scatter: its name, where it lies, and whether it is on the frontier."""

    name: str
    x: float
    y: float
    best: bool


def safe(text: str) -> str:
    """Text of outside as a part of a page."""
    return escape(clean(text), quote=True)


def bars(bars: Sequence[Bar], title: str) -> str:
    """Horizontal bars, one a row; negative values go left of the axis. Whiskers show intervals."""
    if not bars:
        return ""
    name_width = min(330.0, max(display_width(clean(bar.name)) for bar in bars) * _CHARACTER + 14)
    label_width = max(display_width(clean(bar.label)) for bar in bars) * _CHARACTER + 16
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
    for number, bar in enumerate(bars):
        centre = 10 + step * (number + 0.5)
        tall = (height - foot - head) * bar.value / most
        top = height - foot - tall
        parts.append(
            f'<rect class="bar" x="{centre - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{max(tall, 1):.1f}" rx="3"><title>{safe(bar.name)}: {safe(bar.label)}</title></rect>'
        )
        if number % every == 0:
            parts.append(_text("name", sum(_across(step, number, bar.name)) / 2, height - 9, bar.name, "middle"))
        if number in told:
            parts.append(_text("label", sum(_across(step, number, bar.label)) / 2, top - 5, bar.label, "middle"))
    parts.append(f'<path class="axis" d="M10 {height - foot}H{WIDTH - 10}"/>')
    return "".join([*parts, "</svg>"])


def _across(step: float, number: int, text: str) -> tuple[float, float]:
    """From where to where a text over a column reaches: at its middle, and inside of the chart."""
    wide = display_width(clean(text)) * _CHARACTER
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


def curve(points: Sequence[tuple[float, float]], title: str, across: str, up: str) -> str:
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
        wide = display_width(clean(point.name)) * _CHARACTER
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
