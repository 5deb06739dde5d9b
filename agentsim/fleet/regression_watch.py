"""Regression watch: what the last period lost to the cache, held against the periods before.

The measure is the share of input tokens that were lost. A change is beyond noise when chance alone would seldom part
the sessions so, were they dealt out to the two samples at random; it is flagged when it is also as large as asked for.
The interval of the difference is bootstrapped over sessions, to each sample one more added that lost what all did
together: a sample without a loss is no proof that there is none. Everything under a fixed seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.bootstrap import resampled_sums
from agentsim.fleet.chance import chances, onset
from agentsim.fleet.fleet_dimensions import with_named_versions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

RESAMPLES = 2_000
CONFIDENCE = (0.5, 99.5)
"""Ends of the interval, in per cent. Wide, because many groups are looked at."""

CHANCE = 0.01
"""Most chance of a flag for the worse or the better together where nothing changed, for all values of a dimension."""

LEAST_SESSIONS = 5
"""Sessions that a group must have in both periods; fewer say nothing about others."""

_SEED = 20_260_902
_KEYS = ("format", "session")


class Reference(msgspec.Struct, frozen=True):
    """What the last period is held against instead of the periods before it: a span of days (both ends included), a
    version of the harness whenever it ran, or the other sessions of the same days."""

    days: tuple[date, date] | None = None
    version: str | None = None
    others: bool = False


class Onset(msgspec.Struct, frozen=True):
    """The day from which a group lost more, and the first and the last that sessions drawn again say (90 %)."""

    day: date
    first: date
    last: date


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
    chance: float = 1.0
    """How likely chance alone parts the sessions so far in the direction that was found."""
    onset: Onset | None = None
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
    days: np.ndarray[Any, Any]

    @property
    def shares(self) -> np.ndarray[Any, Any]:
        """The lost share of each session that sent anything."""
        sent = self.input > 0
        shares: np.ndarray[Any, Any] = self.lost[sent] / self.input[sent]
        return shares

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
    against: Reference | None = None,
) -> Watch:
    """Compare the last ``days`` with the ``periods`` spans of as many days before them, over all and by dimensions.

    The last period ends ``until``, or with the last day that any session has. ``least`` is the smallest change of the
    lost share that is flagged. ``against`` is held against instead of the periods before. Raises ValueError where there
    is nothing to compare.
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
    reference = against if against is not None else Reference()
    if reference.days is not None:
        before_first, before_last = reference.days
    elif reference.version is not None or reference.others:
        before_first, before_last = (first, last) if reference.others else (pc.min(usage["day"]).as_py(), last)
    old = tuple(_within(table, before_first, before_last) for table in (usage, misses))
    if reference.version is not None:
        names = [name for _, name in _groups(old[0], ("version",))]
        meant = [name for name in names if reference.version in (name, name.rpartition(" ")[2])]
        if len(meant) > 1:
            raise ValueError(f"{len(meant)} harnesses have a version {reference.version}: {', '.join(meant)}")
        old = tuple(_of(table, "version", meant[0] if meant else reference.version) for table in old)
    sides = (old, tuple(_within(table, first, last) for table in (usage, misses)))
    if not len(sides[1][0]):
        raise ValueError(f"no session between {first} and {last}")
    if not len(sides[0][0]):
        what = f"between {before_first} and {before_last}" if reference.version is None else "of this version"
        raise ValueError(f"no session {what} to compare with")
    changes: list[GroupChange] = []
    few = 0
    groups = _groups(sides[1][0], by)
    values = Counter(dimension for dimension, _ in groups)
    for dimension, name in groups if reference.others else [("all", ""), *groups]:
        change = _compare(dimension, name, sides, least, CHANCE / 2 / max(1, values[dimension]), reference)
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
    dimension: str,
    name: str,
    sides: tuple[tuple[pa.Table, ...], ...],
    least: float,
    chance: float,
    reference: Reference,
) -> GroupChange | None:
    new_tables = tuple(_of(table, dimension, name) for table in sides[1])
    if reference.others:
        old_tables = tuple(_not_of(table, dimension, name) for table in sides[0])
    elif dimension == "version" and reference.version is not None:
        old_tables = sides[0]  # a version is held against that version
    else:
        old_tables = tuple(_of(table, dimension, name) for table in sides[0])
    new = dimension != "all" and not reference.others and not len(old_tables[0])
    if new:
        old_tables = sides[0]
    if not len(old_tables[0]):
        return None
    old, now = _side(*old_tables), _side(*new_tables)
    if min(len(old.shares), len(now.shares)) < LEAST_SESSIONS:
        return None
    low, high = _interval(old, now)
    difference = now.rate - old.rate
    flag, found = None, chances(old.shares, now.shares)
    likely = found.larger if difference > 0 else found.smaller
    if abs(difference) >= least and likely <= chance:
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
        chance=likely,
        onset=_onset(old, now) if flag == "worse" and not (new or reference.others or reference.version) else None,
        causes=_growths(old_tables[1], new_tables[1], float(old.input.sum()), float(now.input.sum()), difference),
    )


def _of(table: pa.Table, dimension: str, name: str) -> pa.Table:
    import pyarrow.compute as pc

    return table if dimension == "all" else table.filter(pc.fill_null(pc.equal(table[dimension], name), False))


def _not_of(table: pa.Table, dimension: str, name: str) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter(pc.fill_null(pc.not_equal(table[dimension], name), True))


def _onset(old: _Side, now: _Side) -> Onset | None:
    import numpy as np

    found = onset(
        np.concatenate([side.days[side.input > 0] for side in (old, now)]), np.concatenate((old.shares, now.shares))
    )
    return None if found is None else Onset(*(date(1970, 1, 1) + timedelta(days=day) for day in found))


def _side(usage: pa.Table, misses: pa.Table) -> _Side:
    import numpy as np
    import pyarrow.compute as pc

    sums = (
        usage.group_by(list(_KEYS))
        .aggregate([*((name, "sum") for name in ("fresh", "written", "read", "lost")), ("day", "min")])
        .sort_by([(name, "ascending") for name in _KEYS])
    )
    parts = [
        pc.fill_null(sums[f"{name}_sum"], 0).to_numpy().astype(np.float64) for name in ("fresh", "written", "read")
    ]
    return _Side(
        lost=sums["lost_sum"].to_numpy().astype(np.float64),
        input=parts[0] + parts[1] + parts[2],
        cost=pc.sum(misses["lost_cost"]).as_py() if len(misses) else Decimal(0),
        days=sums["day_min"].cast("int32").to_numpy(),
    )


def _interval(old: _Side, now: _Side) -> tuple[float, float]:
    """The interval of the difference of the two shares over resampled sessions."""
    import numpy as np

    draw = np.random.default_rng(_SEED)
    whole = float(old.input.sum() + now.input.sum())
    share = float(old.lost.sum() + now.lost.sum()) / whole if whole else 0.0
    low, high = np.percentile(_rates(now, share, draw) - _rates(old, share, draw), CONFIDENCE)
    return float(low), float(high)


def _rates(side: _Side, share: float, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    """The lost shares of resampled sessions, among which is one of the usual size that lost ``share``."""
    import numpy as np

    usual = float(side.input.mean())
    sessions = np.column_stack((np.append(side.lost, usual * share), np.append(side.input, usual)))
    sums = resampled_sums(sessions, RESAMPLES, draw)
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
