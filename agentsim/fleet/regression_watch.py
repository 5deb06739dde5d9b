"""Regression watch: what the last period lost to the cache, held against the periods before.

The measure is the share of input tokens that were lost. A change is beyond noise when the interval of the difference,
bootstrapped over sessions under a fixed seed, leaves out zero; it is flagged when it is also as large as asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.bootstrap import resampled_sums
from agentsim.fleet.fleet_dimensions import with_named_versions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

RESAMPLES = 2_000
CONFIDENCE = (0.5, 99.5)
"""Ends of the interval, in per cent. Wide, because many groups are looked at."""

LEAST_SESSIONS = 5
"""Sessions that a group must have in both periods; fewer say nothing about others."""

_SEED = 20_260_902
_KEYS = ("format", "session")


class CauseGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """What a cause lost of all input tokens, before and in the last period, and its dollars in the last: ``None`` where
    none of it has a price."""

    cause: str
    before: float
    last: float
    cost: Decimal | None


class GroupChange(msgspec.Struct, frozen=True, kw_only=True):
    """A group in the last period beside what came before it.

    ``before`` and ``last`` are lost shares of input tokens; ``low`` and ``high`` bound their difference. ``new`` groups
    had no session before: they are held against all others of before. ``excess`` is what was lost in the last period
    beyond the share of before, in dollars (``None``: nothing of it has a price). ``causes`` are those whose share grew
    (or fell) most.
    """

    dimension: str
    name: str
    sessions_before: int
    sessions: int
    before: float
    last: float
    low: float
    high: float
    new: bool
    excess: Decimal | None
    flag: str | None
    """``worse``, ``better``, ``None`` (no change beyond noise)."""
    causes: tuple[CauseGrowth, ...] = ()


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """Two spans of days (both ends included) and every group that could be compared; ``few`` had too few sessions."""

    first: date
    last: date
    before_first: date
    before_last: date
    changes: tuple[GroupChange, ...]
    few: int

    @property
    def worse(self) -> tuple[GroupChange, ...]:
        """Changes for the worse, the dearest first."""
        return tuple(change for change in self.changes if change.flag == "worse")


class _Side(msgspec.Struct, frozen=True):
    """A group in one period: lost and all input tokens by session, and the dollars lost, where
    any of it has a price."""

    lost: np.ndarray[Any, Any]
    input: np.ndarray[Any, Any]
    cost: Decimal | None

    @property
    def sessions(self) -> int:
        return len(self.input)

    @property
    def rate(self) -> float:
        whole = float(self.input.sum())
        return float(self.lost.sum()) / whole if whole else 0.0


def watch(
    folder: str,
    *,
    days: int = 7,
    periods: int = 4,
    until: date | None = None,
    by: Sequence[str] = ("harness", "version", "model", "tier"),
    least: float = 0.01,
) -> Watch:
    """Compare the last ``days`` with the ``periods`` spans of as many days before them, over all and by dimensions.

    The last period ends ``until``, or with the last day that any session has. ``least`` is the smallest change of the
    lost share that is flagged. Raises ValueError where there is nothing to compare.
    """
    import pyarrow.compute as pc

    keys = folders.keys_in(folder)
    usage = folders.read(folder, "usage", keys)
    misses = folders.read(folder, "misses", keys)
    if usage is None or misses is None or not pc.count(usage["day"]).as_py():
        raise ValueError("no session in here has a date")
    usage, misses = with_named_versions(usage), with_named_versions(misses)
    last = until if until is not None else pc.max(usage["day"]).as_py()
    first = last - timedelta(days=days - 1)
    before_last = first - timedelta(days=1)
    before_first = first - timedelta(days=days * periods)
    misses = misses.append_column("day", pc.cast(pc.floor_temporal(misses["time"], unit="day"), "date32"))
    spans = ((before_first, before_last), (first, last))
    sides = tuple((_within(usage, *span), _within(misses, *span)) for span in spans)
    if not len(sides[1][0]):
        raise ValueError(f"no session between {first} and {last}")
    if not len(sides[0][0]):
        raise ValueError(f"no session between {before_first} and {before_last} to compare with")
    changes: list[GroupChange] = []
    few = 0
    for dimension, name in [("all", ""), *_groups(sides[1][0], by)]:
        change = _compare(dimension, name, sides, least)
        if change is None:
            few += 1
        else:
            changes.append(change)
    order = {"worse": 0, "better": 1, None: 2}
    changes.sort(
        key=lambda c: (order[c.flag], -(c.excess or 0) if c.flag else 0, c.dimension != "all", c.dimension, c.name)
    )
    return Watch(
        first=first,
        last=last,
        before_first=before_first,
        before_last=before_last,
        changes=tuple(changes),
        few=few,
    )


def _within(table: pa.Table, first: date, last: date) -> pa.Table:
    import pyarrow.compute as pc

    inside = pc.and_(pc.greater_equal(table["day"], first), pc.less_equal(table["day"], last))
    return table.filter(pc.fill_null(inside, False))


def _groups(usage: pa.Table, by: Sequence[str]) -> list[tuple[str, str]]:
    import pyarrow.compute as pc

    return [
        (dimension, name)
        for dimension in by
        for name in sorted(value for value in pc.unique(usage[dimension]).to_pylist() if value)
    ]


def _compare(
    dimension: str, name: str, sides: tuple[tuple[pa.Table, pa.Table], ...], least: float
) -> GroupChange | None:
    old_tables, new_tables = (tuple(_of(table, dimension, name) for table in side) for side in sides)
    new = dimension != "all" and not len(old_tables[0])
    if new:
        old_tables = sides[0]
    old, now = _side(*old_tables), _side(*new_tables)
    if min(old.sessions, now.sessions) < LEAST_SESSIONS:
        return None
    low, high = _interval(old, now)
    difference = now.rate - old.rate
    flag = None
    if abs(difference) >= least and (low > 0 or high < 0):
        flag = "worse" if difference > 0 else "better"
    excess: Decimal | None = Decimal(0)
    if now.rate:
        excess = None if now.cost is None else now.cost * Decimal(1 - old.rate / now.rate)
    return GroupChange(
        dimension=dimension,
        name=name,
        sessions_before=old.sessions,
        sessions=now.sessions,
        before=old.rate,
        last=now.rate,
        low=low,
        high=high,
        new=new,
        excess=excess,
        flag=flag,
        causes=_growths(old_tables[1], new_tables[1], float(old.input.sum()), float(now.input.sum()), difference),
    )


def _of(table: pa.Table, dimension: str, name: str) -> pa.Table:
    import pyarrow.compute as pc

    return table if dimension == "all" else table.filter(pc.fill_null(pc.equal(table[dimension], name), False))


def _side(usage: pa.Table, misses: pa.Table) -> _Side:
    import numpy as np
    import pyarrow.compute as pc

    sums = (
        usage.group_by(list(_KEYS))
        .aggregate([(name, "sum") for name in ("fresh", "written", "read", "lost")])
        .sort_by([(name, "ascending") for name in _KEYS])
    )
    parts = [sums[f"{name}_sum"].to_numpy().astype(np.float64) for name in ("fresh", "written", "read")]
    return _Side(
        lost=sums["lost_sum"].to_numpy().astype(np.float64),
        input=parts[0] + parts[1] + parts[2],
        cost=pc.sum(misses["lost_cost"]).as_py() if len(misses) else Decimal(0),
    )


def _interval(old: _Side, now: _Side) -> tuple[float, float]:
    """The interval of the difference of the two shares over resampled sessions."""
    import numpy as np

    draw = np.random.default_rng(_SEED)
    low, high = np.percentile(_rates(now, draw) - _rates(old, draw), CONFIDENCE)
    return float(low), float(high)


def _rates(side: _Side, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    import numpy as np

    sums = resampled_sums(np.column_stack((side.lost, side.input)), RESAMPLES, draw)
    lost, whole = sums[:, 0], sums[:, 1]
    rates = np.zeros(RESAMPLES)
    np.divide(lost, whole, out=rates, where=whole > 0)
    return rates


def _growths(
    old: pa.Table, now: pa.Table, old_input: float, new_input: float, difference: float
) -> tuple[CauseGrowth, ...]:
    before = {cause: lost / old_input for cause, lost, _ in _by_cause(old)} if old_input else {}
    last = {cause: (lost / new_input, cost) for cause, lost, cost in _by_cause(now)} if new_input else {}
    nothing: tuple[float, Decimal | None] = (0.0, Decimal(0))
    growths = [
        CauseGrowth(
            cause=cause,
            before=before.get(cause, 0.0),
            last=last.get(cause, nothing)[0],
            cost=last.get(cause, nothing)[1],
        )
        for cause in sorted({*before, *last})
    ]
    sign = -1 if difference < 0 else 1
    growths.sort(key=lambda growth: (-sign * (growth.last - growth.before), growth.cause))
    return tuple(growth for growth in growths if sign * (growth.last - growth.before) > 0)


def _by_cause(misses: pa.Table) -> list[tuple[str, int, Decimal | None]]:
    found = misses.group_by("cause").aggregate([("lost", "sum"), ("lost_cost", "sum")]).to_pylist()
    return [(record["cause"] or "", record["lost_sum"] or 0, record["lost_cost_sum"]) for record in found]
