"""What a token takes of a plan's allowance, from percent counters in a log: an interval, or that it cannot be told.

A counter is rounded to whole per cents, so between two readings it rose by the difference, give or take one. Every pair
bounds the same few unknowns: per cent for a token that is sent fresh, read, or answered. All values that break no bound
are possible, and the interval of any sum of them is between its least and its greatest possible value. A request may
be in the counter beside it or only in the next one: both are allowed. Others may use the same allowance, which makes a
counter rise by more: where no values fit, only what is at most is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from agentsim.core.quota import QuotaReading
from agentsim.core.session import Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.rules.prices import default_book

CLASSES = ("fresh", "read", "output")
"""What is told apart. What was written to a cache counts as fresh."""

ROUNDED = 1.0
"""Percentage points by which a difference of two readings may be off."""

FEWEST = 3
"""Readings that differ, before anything is fitted."""

MOST_BOUNDS = 40
"""Bounds that are used, the longest spans first: more add little."""

SAME_WINDOW = 120
"""Seconds by which the end of one window may seem to move."""

MILLION = 10**6

Vector = tuple[float, float, float]


class QuotaInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Per cent of an allowance, between its least and its greatest possible value."""

    least: float
    most: float

    @property
    def told(self) -> bool:
        """Whether the data tell it: within a factor of two, and more than nothing."""
        return self.least > 0 and self.most <= 2 * self.least


class QuotaFit(msgspec.Struct, frozen=True, kw_only=True):
    """One allowance (``window`` in minutes) and one model. ``rates`` are per cent for a million tokens of each class.

    ``used`` is by how much the counter rose in the session, ``lost`` what its lost caches took, and ``lost_by_price``
    the same if tokens count by their list prices. ``shared``: others used the allowance too, or tokens count otherwise,
    so that only the greatest values are bounds. ``reason`` says why nothing is told.
    """

    window: int
    limit: str
    model: str
    readings: int
    used: float
    lost_tokens: int
    rates: Mapping[str, QuotaInterval] = {}
    lost: QuotaInterval | None = None
    lost_by_price: QuotaInterval | None = None
    shared: bool = False
    reason: str | None = None


def quota_fits(
    session: Session, readings: Mapping[str, Sequence[QuotaReading]], verdicts: Sequence[Verdict]
) -> tuple[QuotaFit, ...]:
    """A fit for each allowance and model that the readings of a session are about, the shortest window first."""
    lost: dict[tuple[int, str, str], int] = {}
    for request, verdict in zip(session.requests, verdicts, strict=True):
        for reading in readings.get(request.id, ()) if request.counted and verdict.kind == "miss" else ():
            key = reading.window, reading.limit, request.model
            lost[key] = lost.get(key, 0) + verdict.lost
    spans: dict[tuple[int, str, str], list[_Span]] = {}
    for window, limit, model, span in _spans(session, readings):
        spans.setdefault((window, limit, model), []).append(span)
    return tuple(
        _fit(window, limit, model, found, lost.get((window, limit, model), 0), _prices(session, model))
        for (window, limit, model), found in sorted(spans.items())
    )


class _Span(msgspec.Struct, frozen=True):
    """From one reading to another: by how much the counter rose, and the tokens that must and may be in that."""

    rise: float
    low: Vector
    high: Vector
    first: bool


def _spans(session: Session, readings: Mapping[str, Sequence[QuotaReading]]) -> Iterator[tuple[int, str, str, _Span]]:
    """Spans from the first reading of each stretch of one window and model to every later one that differs."""
    runs: dict[tuple[int, str], _Run] = {}
    for request in session.requests:
        tokens = _tokens(request.usage) if request.counted else (0.0, 0.0, 0.0)
        for run in runs.values():
            run.pass_by(request, tokens)
        for reading in readings.get(request.id, ()):
            key = reading.window, reading.limit
            known = runs.get(key)
            if known is None or not known.goes_on(reading, request):
                runs[key] = _Run(reading, request, tokens)
            elif reading.used != known.last:
                yield reading.window, reading.limit, request.model, known.span(reading)


class _Run:
    """Readings of one window, one after the other, while one model is used."""

    def __init__(self, reading: QuotaReading, request: Request, tokens: Vector) -> None:
        self.start = self.last = reading.used
        self.resets = reading.resets
        self.model = request.model
        self.low: Vector = (0.0, 0.0, 0.0)
        self.high = tokens
        self._waiting: Vector = (0.0, 0.0, 0.0)
        self.mixed = False

    def pass_by(self, request: Request, tokens: Vector) -> None:
        self.low = _plus(self.low, self._waiting)
        self._waiting = tokens
        self.high = _plus(self.high, tokens)
        self.mixed |= request.model != self.model

    def goes_on(self, reading: QuotaReading, request: Request) -> bool:
        same = self.resets is None or reading.resets is None or abs(reading.resets - self.resets) <= SAME_WINDOW
        return same and reading.used >= self.last and not self.mixed and request.model == self.model

    def span(self, reading: QuotaReading) -> _Span:
        first = self.last == self.start
        self.last = reading.used
        return _Span(reading.used - self.start, self.low, self.high, first)


def _tokens(usage: Usage | None) -> Vector:
    if usage is None:
        return (0.0, 0.0, 0.0)
    fresh = (usage.fresh or 0) + (usage.write or 0)
    return (fresh / MILLION, (usage.read or 0) / MILLION, (usage.output or 0) / MILLION)


def _fit(window: int, limit: str, model: str, spans: Sequence[_Span], lost: int, prices: Vector | None) -> QuotaFit:
    used = sum(last.rise for last in _ends(spans))
    nothing = QuotaFit(window=window, limit=limit, model=model, readings=len(spans), used=used, lost_tokens=lost)
    if len(spans) < FEWEST:
        reason = f"{len(spans)} changes of the counter are too few"
        return msgspec.structs.replace(
            nothing, reason=reason if len(spans) != 1 else "one change of the counter is too few"
        )
    shared = False
    corners = _corners(spans, both=True)
    if not corners:
        shared, corners = True, _corners(spans, both=False)
    if not corners:
        return msgspec.structs.replace(nothing, reason="the tokens between its readings are too few")
    share = lost / MILLION
    return msgspec.structs.replace(
        nothing,
        rates={name: _interval(corners, _unit(index), shared) for index, name in enumerate(CLASSES)},
        lost=_interval(corners, (share, -share, 0.0), shared),
        lost_by_price=None if prices is None else _by_price(spans, prices, share),
        shared=shared,
    )


def _by_price(spans: Sequence[_Span], prices: Vector, share: float) -> QuotaInterval | None:
    """What lost caches took if each token counts by its price; only the most, where others used the allowance too."""
    extra = (prices[0] - prices[1]) * share
    most = min(((s.rise + ROUNDED) / _dot(prices, s.low) for s in spans if _dot(prices, s.low) > 0), default=None)
    if most is None:
        return None
    least = max((s.rise - ROUNDED) / _dot(prices, s.high) for s in spans if _dot(prices, s.high) > 0)
    return QuotaInterval(least=max(0.0, least) * extra if least <= most else 0.0, most=most * extra)


def _prices(session: Session, model: str) -> Vector | None:
    """The list prices of fresh, read and output tokens of a model, to weigh them by."""
    book = default_book()
    card = next((book.card_for(request) for request in session.requests if request.model == model), None)
    if card is None or not card.fresh:
        return None
    return (1.0, (card.fresh if card.read is None else card.read) / card.fresh, card.output / card.fresh)


def _ends(spans: Sequence[_Span]) -> Iterable[_Span]:
    """The last span of each stretch."""
    for span, following in zip(spans, [*spans[1:], None], strict=True):
        if following is None or following.first:
            yield span


def _corners(spans: Sequence[_Span], *, both: bool) -> list[Vector]:
    """The corners of all values that break no bound; none where there are no such values, or they have no end. Without
    ``both`` a counter may have risen by more than the session made it."""
    longest = sorted(spans, key=lambda span: -sum(span.low))[: MOST_BOUNDS // 2]
    # a . x <= b
    bounds: list[tuple[Vector, float]] = [(_minus(_unit(index)), 0.0) for index in range(3)]
    for span in longest:
        bounds.append((span.low, span.rise + ROUNDED))
        if both:
            bounds.append((_minus(span.high), ROUNDED - span.rise))
    corners: list[Vector] = []
    for chosen in combinations(bounds, 3):
        point = _meeting(chosen)
        if point is not None and all(_dot(a, point) <= b + 1e-9 * max(1.0, abs(b)) for a, b in bounds):
            corners.append(point)
    return corners


def _interval(corners: Sequence[Vector], direction: Vector, shared: bool) -> QuotaInterval:
    values = [_dot(direction, corner) for corner in corners]
    return QuotaInterval(least=0.0 if shared else max(0.0, min(values)), most=max(0.0, *values))


def _meeting(planes: Sequence[tuple[Vector, float]]) -> Vector | None:
    """Where three planes meet; ``None`` where they meet in no one point."""
    (a, p), (b, q), (c, r) = planes
    bc, ca, ab = _cross(b, c), _cross(c, a), _cross(a, b)
    size = _dot(a, bc)
    if abs(size) < 1e-12:
        return None
    return (
        (p * bc[0] + q * ca[0] + r * ab[0]) / size,
        (p * bc[1] + q * ca[1] + r * ab[1]) / size,
        (p * bc[2] + q * ca[2] + r * ab[2]) / size,
    )


def _unit(index: int) -> Vector:
    return (float(index == 0), float(index == 1), float(index == 2))


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _plus(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _minus(a: Vector) -> Vector:
    return (-a[0], -a[1], -a[2])
