"""What a sweep keeps of each session, as Parquet tables: its outcomes, its misses, what its models consumed, its ids.

Sums of money are decimals of a dollar with twelve places, exact. Times are UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.core.dates import DAY, SECOND, has_date
from agentsim.core.session import Request, Session, Usage
from agentsim.core.sums import FIELDS, Sums, add, as_sums, known, new_sums
from agentsim.diagnose import Diagnosis

if TYPE_CHECKING:
    import pyarrow as pa

LOGGED = "logged"
"""In place of a policy: the session as its log tells it."""
COUNTERS = ("fresh", "written", "read", "output")
"""Sums of tokens; each is null where no request reports that counter, and ``with_…`` says how many do."""

RECORDED = "recorded"
"""In place of a policy: the session as recorded, simulated. What a policy saves is counted from it."""


class Home(msgspec.Struct, frozen=True):
    """Whose a session is: its project and team, the first of its files, its harness and the version it began with."""

    session: str
    format: str
    project: str
    team: str
    file: str
    harness: str | None
    version: str | None
    model: str | None


@cache
def schemas() -> dict[str, pa.Schema]:
    """The schema of each table, by name."""
    import pyarrow as pa

    text, whole, money = pa.string(), pa.int64(), pa.decimal128(38, 12)
    time, day = pa.timestamp("ns", "UTC"), pa.date32()
    home = [(name, text) for name in Home.__struct_fields__]
    tokens = [(name, whole) for name in ("requests", "fresh", "written", "read", "output")]
    lost = [("misses", whole), ("lost", whole), ("lost_cost", money)]
    counted = [(f"with_{name}", whole) for name in COUNTERS]
    return {
        "policies": pa.schema(
            [
                ("policy", pa.dictionary(pa.int32(), text)),
                *home,
                ("start", time),
                ("seconds", pa.float64()),
                *tokens,
                ("cost", money),
                ("unpriced", whole),
                ("saving", money),
                ("applied", pa.bool_()),
                ("explained", whole),
                ("reported", whole),
                ("holds", pa.bool_()),
                ("reason", text),
            ]
        ),
        "usage": pa.schema(
            [*home, ("day", day), ("tier", text), *tokens, *counted, ("cost", money), ("unpriced", whole), *lost]
        ),
        "misses": pa.schema(
            [
                *home,
                ("time", time),
                ("request", text),
                ("tier", text),
                ("cause", text),
                ("evidence", text),
                ("section", text),
                ("lost", whole),
                ("lost_cost", money),
            ]
        ),
        "ids": pa.schema([("unit", text), ("id", pa.uint64())]),
    }


def dollars(pico: int | None) -> Decimal | None:
    """Picodollars as a decimal with twelve places."""
    return None if pico is None else Decimal(pico).scaleb(-12)


def outcome(
    home: Home,
    sums: Sums,
    *,
    start: int | None,
    end: int | None,
    saving: int | None = None,
    applied: bool = False,
    explained: int | None = None,
    reported: int | None = None,
    holds: bool | None = None,
    reason: str | None = None,
    reports: Collection[str] = COUNTERS,
) -> dict[str, Any]:
    """A record of table ``policies``: a session under one policy. Times in nanoseconds, money in picodollars.

    ``reports`` are the counters that any of its requests has.

    Where a trace counts its times from its own beginning, it has no start, but takes its seconds.
    """
    return {
        **_home(home),
        "start": _date(start),
        "seconds": None if start is None or end is None else (end - start) / SECOND,
        "requests": sums.requests,
        **{name: getattr(sums, name) if name in reports else None for name in COUNTERS},
        "cost": dollars(sums.known_cost),
        "unpriced": sums.unpriced,
        "saving": dollars(saving),
        "applied": applied,
        "explained": explained,
        "reported": reported,
        "holds": holds,
        "reason": reason,
    }


def usage_records(home: Home, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Records of table ``usage``: what each model consumed and lost, by day, version of the harness and lifetime."""
    sums: dict[tuple[str, str | None, int | None, str], list[int]] = {}
    reported: dict[tuple[str, str | None, int | None, str], Counter[str]] = {}
    lost = ("misses", "lost", "lost_cost")
    tiers = _tiers(diagnosis.session)
    for row, verdict, tier in zip(diagnosis.rows, diagnosis.verdicts, tiers, strict=True):
        request = row.request
        if not request.counted:
            continue
        time = _date(request.start if request.start is not None else request.end)
        key = (request.model, request.harness_version, None if time is None else time // DAY, tier)
        into = sums.setdefault(key, new_sums() + [0] * (len(lost) + 1))
        add(into, row.usage, row.cost, None)
        reported.setdefault(key, Counter()).update(counters_in(row.usage))
        if verdict.kind == "miss":
            into[-4] += 1
            into[-3] += verdict.lost
            into[-2] += verdict.lost_cost or 0
            into[-1] += verdict.lost_cost is None
    records = []
    for model, version, day, tier in sorted(sums, key=lambda key: tuple(str(part) for part in key)):
        record = {**_home(home), "model": model, "version": version, "day": day, "tier": tier}
        record.update(zip((*FIELDS, *lost, "lost_unpriced"), sums[model, version, day, tier], strict=True))
        del record["equivalents"]
        with_counters = reported[model, version, day, tier]
        for name in COUNTERS:
            record[f"with_{name}"] = with_counters[name]
            record[name] = record[name] if with_counters[name] else None
        record["cost"] = dollars(known(record["cost"], record["requests"], record["unpriced"]))
        record["lost_cost"] = dollars(known(record["lost_cost"], record["misses"], record.pop("lost_unpriced")))
        records.append(record)
    return records


def counters_in(usage: Usage) -> tuple[str, ...]:
    """The counters that a request reports, by their names in the tables."""
    amounts = (usage.fresh, usage.write, usage.read, usage.output)
    return tuple(name for name, amount in zip(COUNTERS, amounts, strict=True) if amount is not None)


def miss_records(home: Home, diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Records of table ``misses``: every request that lost its prefix."""
    records = []
    for request, verdict, tier in zip(
        diagnosis.session.requests, diagnosis.verdicts, _tiers(diagnosis.session), strict=True
    ):
        if verdict.kind == "miss" and request.counted:
            records.append(
                {
                    **_home(home),
                    "model": request.model,
                    "version": request.harness_version,
                    "time": _date(request.start if request.start is not None else request.end),
                    "request": request.id,
                    "tier": tier,
                    "cause": verdict.cause,
                    "evidence": verdict.evidence,
                    "section": None if verdict.place is None else verdict.place.section,
                    "lost": verdict.lost,
                    "lost_cost": dollars(verdict.lost_cost),
                }
            )
    return records


def _date(time: int | None) -> int | None:
    return time if time is not None and has_date(time) else None


def id_records(unit: str, session: Session) -> list[dict[str, Any]]:
    """Records of table ``ids``: 64 bits of the digest of each counted request's id."""
    return [
        {"unit": unit, "id": _short(f"{session.format}\0{request.id}")}
        for request in session.requests
        if request.counted
    ]


def table(name: str, records: Sequence[dict[str, Any]]) -> pa.Table:
    """The records of a table, typed."""
    import pyarrow as pa

    return pa.Table.from_pylist(records, schema=schemas()[name])


def sums_of(usages: Iterable[tuple[Request, Usage, int | None]]) -> Sums:
    """The sums over counted requests with their usage and their cost in picodollars."""
    found = new_sums()
    for request, usage, paid in usages:
        if request.counted:
            add(found, usage, paid, None)
    return as_sums(found)


def _home(home: Home) -> dict[str, Any]:
    return {name: getattr(home, name) for name in Home.__struct_fields__}


def _tiers(session: Session) -> list[str]:
    """The lifetime that each request's lane writes with: ``1h``, ``5m``, or ``none`` before it wrote anything."""
    latest: dict[str, str] = {}
    tiers = []
    for request in session.requests:
        usage = request.usage
        if usage is not None and usage.write_long:
            latest[request.lane] = "1h"
        elif usage is not None and usage.write_short:
            latest[request.lane] = "5m"
        tiers.append(latest.get(request.lane, "none"))
    return tiers


def _short(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big")
