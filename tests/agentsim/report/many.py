"""A made-up summary whose figures are easy to check by hand."""

from __future__ import annotations

from agentsim.core.dates import SECOND
from agentsim.core.session import Accounting
from agentsim.diagnose.diagnosis_totals import Loss
from agentsim.fleet.summary import MissLine, SessionLine, Summary

TEN = 1_767_607_200 * SECOND  # 2026-01-05 10:00:00 UTC
CENT = 10**10


def many() -> Summary:
    """Two sessions that lost $12.35 of $1,234.50."""
    losses = (
        Loss(cause="AS201", count=1, tokens=1_000_000, cost=1_000 * CENT, equivalents=2_000_000 * 10**6),
        Loss(cause="AS101", count=1, tokens=100_000, cost=235 * CENT, equivalents=470_000 * 10**6),
    )
    sessions = (
        SessionLine(
            session="030df228-aaaa",
            project="posh",
            requests=100,
            cost=123_000 * CENT,
            lost_cost=1_000 * CENT,
            misses=1,
            hit_read=8_900_000,
            hit_total=9_800_000,
            first_stamp="2026-01-05T10:00:00.000Z",
            last_stamp="2026-01-05T11:00:00.000Z",
        ),
        SessionLine(
            session="94fab1a1-bbbb",
            project="posh",
            requests=4,
            cost=450 * CENT,
            lost_cost=235 * CENT,
            misses=1,
            hit_read=100_000,
            hit_total=200_000,
            first_stamp="2026-01-06T10:00:00.000Z",
            last_stamp="2026-01-06T11:00:00.000Z",
        ),
    )
    misses = (
        MissLine(
            session="030df228-aaaa",
            request="r7",
            time=TEN + 3600 * SECOND,
            cause="AS201",
            lost=1_000_000,
            lost_cost=1_000 * CENT,
            file="logs/030df228-aaaa.jsonl",
            line=70,
        ),
        MissLine(
            session="94fab1a1-bbbb",
            request="r2",
            time=TEN + 86_400 * SECOND,
            cause="AS101",
            lost=100_000,
            lost_cost=235 * CENT,
            file="logs/94fab1a1-bbbb.jsonl",
            line=2,
        ),
    )
    return Summary(
        sessions=2,
        files=3,
        requests=104,
        duplicates=3,
        cost=123_450 * CENT,
        equivalents=246_900_000 * 10**6,
        fresh=200_000,
        written=800_000,
        read=9_000_000,
        output=50_000,
        hit_read=9_000_000,
        hit_total=10_000_000,
        losses=losses,
        lost_tokens=1_100_000,
        lost_cost=1_235 * CENT,
        worst_sessions=sessions,
        worst_misses=misses,
        unlogged=24,
        unlogged_cost=120 * CENT,
        unpriced=(("some-model", 2),),
        unreported=0,
        kinds=(("hit", 100), ("miss", 2), ("first", 2)),
        accounting=Accounting(rows=1_000, used=104, duplicate=96, not_billable=799, skipped=(("not JSON", 1),)),
        problems=(),
        first_time=TEN,
        last_time=TEN + 90_000 * SECOND,
    )
