"""Lifetimes of markers, and no markers at all."""

from __future__ import annotations

import pytest

from agentsim.core.session import Session
from agentsim.whatif.policies import parse
from tests.agentsim.whatif.policies.small import HEAD, block, equivalents, request, saves, session, split, under

TASK = [*HEAD, block("task", 17_000)]


def turns(gap: float, ttl: int = 300) -> Session:
    """Two turns: 20,000 tokens, then 1,000 more."""
    return session(
        request("r1", 0, TASK, (1, -1), ttl=ttl),
        request("r2", gap, [*TASK, block("more", 1_000)], (1, -1), ttl=ttl),
    )


def test_an_hour_saves_a_pause_of_ten_minutes() -> None:
    # 41,000 written at 1.25 against 21,000 at 2 and 20,000 read.
    assert saves(turns(600), "ttl-1h") == 41_000 * 1.25 - (21_000 * 2 + 20_000 * 0.1)


def test_an_hour_costs_more_without_a_pause() -> None:
    assert saves(turns(60), "ttl-1h") == -21_000 * 0.75


def test_five_minutes_are_the_reverse() -> None:
    assert saves(turns(60, ttl=3_600), "ttl-5m") == 21_000 * 0.75
    assert saves(turns(600, ttl=3_600), "ttl-5m") == (21_000 * 2 + 2_000) - 41_000 * 1.25


def test_a_long_lived_head_with_a_short_lived_tail() -> None:
    # After ten minutes the head of 3,000 is read, the rest written again.
    assert split(under(turns(600), "ttl-split"))[1] == ("r2", 18_000, 3_000, 0)
    assert saves(turns(600), "ttl-split") == 3_000 * 1.25 - 3_000 * 0.1 - 3_000 * 0.75


def test_lifetimes_by_lane() -> None:
    child = [*HEAD, block("a child's task", 7_000)]
    given = session(
        request("r1", 0, TASK, ttl=3_600),
        request("c1", 20, child, lane="child", ttl=3_600),
        request("c2", 60, [*child, block("result", 500)], lane="child", ttl=3_600),
        request("r2", 600, [*TASK, block("more", 1_000)], ttl=3_600),
    )
    # The child wrote 10,000 and 500; the main lane keeps its hour and reads after ten minutes.
    assert saves(given, "ttl-lanes") == 10_500 * 0.75
    assert split(under(given, "ttl-lanes"))[-1] == ("r2", 1_000, 20_000, 0)
    assert saves(given, "ttl-lanes:main=5m,children=as-is") < 0


def test_without_caching_all_is_ordinary_input() -> None:
    # 20,000 and 21,000 fresh, against 21,000 written and 20,000 read.
    assert saves(turns(60), "no-caching") == 21_000 * 1.25 + 20_000 * 0.1 - 41_000
    assert split(under(turns(60), "no-caching")) == [("r1", 0, 0, 20_000), ("r2", 0, 0, 21_000)]


def test_a_prompt_that_nobody_reads_is_cheaper_without_a_marker() -> None:
    assert saves(session(request("r1", 0, TASK)), "no-caching") == 20_000 * 0.25


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ttl-5m", "every marker lives 300 s already"),
        ("ttl-lanes", "there are no subagents"),
        ("ttl-lanes:main=5m", "every marker has that lifetime already"),
    ],
)
def test_nothing_to_do(spec: str, reason: str) -> None:
    assert parse(spec).applies(turns(60)) == reason


def test_no_marker_to_change() -> None:
    bare = session(request("r1", 0, TASK, ()))
    for name in ("ttl-1h", "no-caching"):
        assert parse(name).applies(bare) == "no request has a marker"
    assert parse("ttl-split").applies(bare) == "no marker stands in tools or system"


def test_the_session_given_stays_as_it_was() -> None:
    given = turns(600)
    before = equivalents(given)
    under(given, "ttl-1h")
    assert equivalents(given) == before
    assert {marker.ttl for r in given.requests for marker in (r.prompt.breakpoints if r.prompt else ())} == {300}
