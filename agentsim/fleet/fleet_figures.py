"""What a sweep found, added up: by policy, by cause, by whatever a platform team asks for. Sums of money are exact.

Intervals are bootstrapped over sessions: sessions are drawn again with replacement, under a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.bootstrap import resampled_sums
from agentsim.fleet.fleet_dimensions import LOSSES_BY, with_named_versions
from agentsim.fleet.sweep_tables import LOGGED, RECORDED
from agentsim.whatif.backtest_standing import is_unproven

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

RESAMPLES = 1000
CONFIDENCE = (2.5, 97.5)
_SEED = 20_260_901
_SUMS = ("requests", "fresh", "written", "read", "output", "cost", "unpriced", "misses", "lost", "lost_cost")


class FleetGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one value of a dimension. Money in dollars; ``None`` where nothing in it has a known price.

    By cause, only the misses have figures.
    """

    name: str
    requests: int | None
    fresh: int | None
    written: int | None
    read: int | None
    output: int | None
    cost: Decimal | None
    unpriced: int | None
    misses: int
    lost: int
    lost_cost: Decimal | None


class PolicyLine(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions under one policy, over those sessions that the simulation reproduces well enough.

    ``applied`` is in how many it had something to do. ``low`` and ``high`` bound the saving over resampled sessions.
    ``seconds`` is the time from the first request to the end of the last, added up. ``best`` policies are on the
    frontier: none is both cheaper and faster. ``refused`` sessions would be refused by the provider in part; what they
    would save is not counted. Money is ``None`` where none of the sessions has a price.
    """

    policy: str
    sessions: int
    applied: int
    refused: int
    cost: Decimal | None
    saving: Decimal | None
    low: float | None
    high: float | None
    seconds: float
    best: bool = False


class Concentration(msgspec.Struct, frozen=True, kw_only=True):
    """How the loss is spread over sessions: shares of the loss by shares of the sessions, the worst first.

    ``points`` are (share of sessions, share of loss), for a curve; ``half`` is how many sessions hold half of it.
    """

    sessions: int
    with_loss: int
    half: int
    gini: float
    points: tuple[tuple[float, float], ...]


class FleetFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet in figures. ``withheld`` sessions are reproduced too badly for what-ifs, ``left_out`` ones not at all.

    ``low`` and ``high`` bound the loss over resampled sessions; ``None`` where nothing of it has a price.
    """

    sessions: int
    total: FleetGroup
    low: float | None
    high: float | None
    policies: tuple[PolicyLine, ...]
    withheld: int
    left_out: tuple[tuple[str, int], ...]
    concentration: Concentration
    by: tuple[tuple[str, tuple[FleetGroup, ...]], ...]

    def groups(self, dimension: str) -> tuple[FleetGroup, ...]:
        """The groups of a dimension, the largest loss first."""
        return dict(self.by).get(dimension, ())


def figures(folder: str, *, resamples: int = RESAMPLES) -> FleetFigures:
    """Add up the results in a folder. Raises OSError when they cannot be read, ValueError where there are none."""
    import pyarrow.compute as pc

    keys = folders.keys_in(folder)
    usage = folders.read(folder, "usage", keys)
    misses = folders.read(folder, "misses", keys)
    outcomes = folders.read(folder, "policies", keys)
    if usage is None or misses is None or outcomes is None or not len(outcomes):
        raise ValueError("no session in here could be judged")
    usage = _with_week(with_named_versions(usage), pc.cast(usage["day"], "timestamp[s]"))
    usage = _only_losses(usage)
    misses = _with_week(misses, misses["time"])
    logged = outcomes.filter(pc.equal(outcomes["policy"], LOGGED))
    policies, withheld, left_out = _policies(outcomes, resamples)
    losses = _lost_by_session(misses)
    total = _total(usage)
    low, high = _interval([_floats(losses)], len(logged), resamples)[0] if losses else (0.0, 0.0)
    return FleetFigures(
        sessions=len(logged),
        total=total,
        low=None if total.lost_cost is None else low,
        high=None if total.lost_cost is None else high,
        policies=policies,
        withheld=withheld,
        left_out=left_out,
        concentration=_concentration(losses, len(logged)),
        by=tuple(
            (dimension, _by_cause(misses) if dimension == "cause" else _grouped(usage, dimension))
            for dimension in LOSSES_BY
        ),
    )


def _with_week(table: pa.Table, times: Any) -> pa.Table:
    """The table with the ISO week of each record: ``2026-W05``."""
    import pyarrow.compute as pc

    week = pc.strftime(times, format="%G-W%V")
    return table.append_column("week", week)


def _only_losses(usage: pa.Table) -> pa.Table:
    """The table without costs where nothing was lost, so that a sum is unknown where no loss in it has a price."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = usage.schema.get_field_index("lost_cost")
    none = pa.scalar(None, usage.schema.field(place).type)
    return usage.set_column(place, "lost_cost", pc.if_else(pc.equal(usage["misses"], 0), none, usage["lost_cost"]))


def _total(usage: pa.Table) -> FleetGroup:
    import pyarrow.compute as pc

    return _group("all", {name: pc.sum(usage[name]).as_py() for name in _SUMS})


def _grouped(usage: pa.Table, dimension: str) -> tuple[FleetGroup, ...]:
    found = usage.group_by(dimension).aggregate([(name, "sum") for name in _SUMS]).to_pylist()
    return _sorted(_group(record[dimension], {name: record[f"{name}_sum"] for name in _SUMS}) for record in found)


def _by_cause(misses: pa.Table) -> tuple[FleetGroup, ...]:
    found = misses.group_by("cause").aggregate([("lost", "sum"), ("lost", "count"), ("lost_cost", "sum")]).to_pylist()
    return _sorted(
        _group(
            record["cause"],
            {
                **dict.fromkeys(_SUMS),
                "misses": record["lost_count"],
                "lost": record["lost_sum"],
                "lost_cost": record["lost_cost_sum"],
            },
        )
        for record in found
    )


def _group(name: str | None, sums: dict[str, Any]) -> FleetGroup:
    misses = sums["misses"] or 0
    lost_cost = sums["lost_cost"]
    if sums["requests"] and sums["unpriced"] == sums["requests"]:
        sums = {**sums, "cost": None}
        lost_cost = None
    if not misses:
        lost_cost = Decimal(0)  # nothing was lost, whatever it would have cost
    return FleetGroup(name=name or "", **{**sums, "misses": misses, "lost": sums["lost"] or 0, "lost_cost": lost_cost})


def _sorted(groups: Any) -> tuple[FleetGroup, ...]:
    return tuple(
        sorted(groups, key=lambda group: (-(group.lost_cost or 0), -group.lost, -(group.cost or 0), group.name))
    )


def _lost_by_session(misses: pa.Table) -> list[Decimal]:
    """The dollars lost of each session that lost any, the most first."""
    found = misses.group_by(["format", "session"]).aggregate([("lost_cost", "sum")])["lost_cost_sum"].to_pylist()
    return sorted((lost for lost in found if lost), reverse=True)


def _concentration(losses: Sequence[Decimal], sessions: int) -> Concentration:
    total = sum(losses)
    points = [(0.0, 0.0)]
    half = 0
    so_far = Decimal(0)
    step = max(1, len(losses) // 200)
    area = Decimal(0)
    for number, lost in enumerate(losses, 1):
        area += so_far + lost / 2
        so_far += lost
        if not half and so_far * 2 >= total:
            half = number
        if number % step == 0 or number == len(losses):
            points.append((number / sessions, float(so_far / total)))
    if not total:
        return Concentration(sessions=sessions, with_loss=0, half=0, gini=0.0, points=((0.0, 0.0), (1.0, 0.0)))
    if len(losses) < sessions:
        points.append((1.0, 1.0))
    area += total * (sessions - len(losses))
    # The curve counts the worst first, so that it lies above the line of equal shares.
    gini = float(2 * area / (total * sessions) - 1)
    return Concentration(sessions=sessions, with_loss=len(losses), half=half, gini=gini, points=tuple(points))


def _policies(outcomes: pa.Table, resamples: int) -> tuple[tuple[PolicyLine, ...], int, tuple[tuple[str, int], ...]]:
    import pyarrow.compute as pc

    recorded = outcomes.filter(pc.equal(outcomes["policy"], RECORDED))
    out = recorded.filter(pc.is_null(recorded["holds"]))
    reasons = out.group_by("reason").aggregate([("session", "count")]).to_pylist()
    left_out = tuple(sorted((record["reason"] or "", record["session_count"]) for record in reasons))
    withheld = pc.sum(pc.equal(recorded["holds"], False)).as_py() or 0
    # In an order that does not depend on shards, so that neither sums of seconds nor resamples do.
    held = outcomes.filter(pc.fill_null(outcomes["holds"], False)).sort_by(
        [(name, "ascending") for name in ("session", "format", "file")]
    )
    lines: list[PolicyLine] = []
    savings: list[np.ndarray[Any, Any]] = []
    names = sorted(name for name in pc.unique(held["policy"]).to_pylist() if name != LOGGED)
    base = held.filter(pc.equal(held["policy"], RECORDED))
    priced = pc.any(pc.less(base["unpriced"], base["requests"])).as_py() or False
    cost = pc.sum(base["cost"]).as_py() or Decimal(0)
    for name in names:
        rows = held.filter(pc.equal(held["policy"], name))
        known = pc.is_valid(rows["saving"])
        counted = rows.filter(known)
        saving = pc.sum(counted["saving"]).as_py() or Decimal(0)
        savings.append(_floats(rows["saving"].to_pylist()))
        lines.append(
            PolicyLine(
                policy=name,
                sessions=len(rows),
                applied=pc.sum(rows["applied"]).as_py() or 0,
                refused=pc.sum(pc.and_(pc.is_null(rows["saving"]), pc.is_valid(rows["reason"]))).as_py() or 0,
                cost=cost - saving if priced and _is_told(name) else None,
                saving=saving if priced and _is_told(name) else None,
                low=None,
                high=None,
                seconds=pc.sum(rows["seconds"]).as_py() or 0.0,
            )
        )
    if priced:
        intervals = _interval(savings, len(savings[0]) if savings else 0, resamples)
        lines = [
            msgspec.structs.replace(line, low=low, high=high) if _is_told(line.policy) else line
            for line, (low, high) in zip(lines, intervals, strict=True)
        ]
    lines.sort(key=lambda line: (line.cost is None, line.cost or 0, line.seconds, line.policy != RECORDED, line.policy))
    fastest = float("inf")
    marked = []
    for line in lines:
        if line.cost is None:
            marked.append(line)
            continue
        best = priced and line.seconds < fastest
        fastest = min(fastest, line.seconds)
        marked.append(msgspec.structs.replace(line, best=best))
    return tuple(marked), withheld, left_out


def _is_told(policy: str) -> bool:
    """Whether dollars are told of a policy, as the backtest shows."""
    return policy == RECORDED or not is_unproven(policy.partition(":")[0])


def _floats(values: Sequence[Decimal | None]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.array([float(value or 0) for value in values])


def _interval(columns: Sequence[np.ndarray[Any, Any]], sessions: int, resamples: int) -> list[tuple[float, float]]:
    """The interval of the sum of each column over resampled sessions; those beyond a column's end count nothing."""
    import numpy as np

    if not sessions or not columns:
        return [(0.0, 0.0) for _ in columns]
    values = np.zeros((sessions, len(columns)))
    for number, column in enumerate(columns):
        values[: len(column), number] = column
    sums = resampled_sums(values, resamples, np.random.default_rng(_SEED))
    low, high = np.percentile(sums, CONFIDENCE, axis=0)
    return [(float(one), float(other)) for one, other in zip(low, high, strict=True)]
