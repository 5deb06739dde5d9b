"""When an entry is refreshed, how often, and when that stops paying."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.core.session import Request, Session
from tests.agentsim.whatif.policies.small import (
    HEAD,
    MINUTE,
    block,
    equivalents,
    request,
    saves,
    session,
    split,
    under,
)


def paused(
    minutes: float, *, tokens: int = 200_000, ttl: int = 300, stop: str = "end_turn", took: float = 10, **more
) -> Session:
    """Two requests with a pause between their starts; the second adds 100 tokens."""
    blocks = [*HEAD, block("history", tokens - 3_000)]
    return session(
        request("r1", 0, blocks, ttl=ttl, stop_reason=stop, took=took, **more),
        request("r2", minutes * MINUTE, [*blocks, block("next", 100)], ttl=ttl),
    )


def pings(given: Session, spec: str) -> list[float]:
    """Seconds after the first request at which it is refreshed."""
    from agentsim.whatif.policies import parse

    policy = parse(spec)
    if policy.applies(given) is not None:
        return []
    found: list[Request] = [r for r in policy.rewrite(given).requests if r.purpose == "keep_alive"]
    first = given.requests[0].start or 0
    return [((ping.start or 0) - first) / SECOND for ping in found]


def test_idle_refreshes_of_a_five_minute_entry_end_within_half_an_hour() -> None:
    # 4.5, 9, ... 27 min: the next one would come after 31.5 min, and 30 are allowed.
    assert pings(paused(40), "keep-alive-priced") == [270 * n for n in range(1, 7)]
    # The entry then lives to 27 + 5 = 32 min: a request after 31 min reads it, one after 33 does not.
    assert split(under(paused(31), "keep-alive-priced"))[-1] == ("r2", 100, 200_000, 0)
    assert split(under(paused(33), "keep-alive-priced"))[-1] == ("r2", 200_100, 0, 0)


def test_running_refreshes_end_within_an_hour() -> None:
    assert pings(paused(90, stop="tool_use"), "keep-alive-priced") == [270 * n for n in range(1, 14)]  # 58.5 min


def test_an_hour_is_refreshed_once_while_running_and_never_while_idle() -> None:
    assert pings(paused(90, ttl=3_600, stop="tool_use"), "keep-alive-priced") == [54 * MINUTE]
    assert pings(paused(90, ttl=3_600), "keep-alive-priced") == []  # 54 min is later than 30


def test_a_request_still_running_counts_as_running() -> None:
    # It ends after 20 min, at a person's turn: until then 4 refreshes, then those within 30 min.
    assert pings(paused(90, took=20 * MINUTE), "keep-alive-priced") == [270 * n for n in range(1, 7)]
    # 50,000 tokens are worth a refresh while running, not while idle.
    assert pings(paused(90, took=20 * MINUTE, tokens=50_000), "keep-alive-priced") == [270 * n for n in range(1, 5)]


@pytest.mark.parametrize(
    ("model", "running", "idle"),
    # The least N with p · N · (write - read) - (N · read + 1 · output) >= $0.05. With $5 a million: 5.75 and 0.50,
    # output $25: 0.050025 / 5.25 and 0.050025 / (0.15 · 5.75 - 0.5). With $1: 0.050005 / 1.05, 0.050005 / 0.0725.
    [("claude-opus-4-5", 9_529, 138_000), ("claude-haiku-4-5", 47_624, 689_725)],
)
def test_small_prompts_are_not_worth_a_refresh(model: str, running: int, idle: int) -> None:
    for stop, least in (("tool_use", running), ("end_turn", idle)):
        assert len(pings(paused(6, tokens=least, stop=stop, model=model), "keep-alive-priced")) == 1
        assert pings(paused(6, tokens=least - 1, stop=stop, model=model), "keep-alive-priced") == []


def test_a_late_timer_drops_the_refresh() -> None:
    # Half of the 30 s that are left: at 285 s it is still sent, after that no more.
    assert pings(paused(6), "keep-alive-priced:late=15") == [285]
    assert pings(paused(6), "keep-alive-priced:late=15.5") == []
    assert pings(paused(90, ttl=3_600, stop="tool_use"), "keep-alive-priced:late=180") == [3_420]
    assert pings(paused(90, ttl=3_600, stop="tool_use"), "keep-alive-priced:late=181") == []


def test_three_refreshes_cover_nineteen_minutes_and_a_quarter() -> None:
    assert pings(paused(40), "keep-alive-three") == [285, 570, 855]
    covered = (3 * 285 + 300) / MINUTE
    assert covered == 19.25
    assert split(under(paused(covered), "keep-alive-three"))[-1] == ("r2", 100, 200_000, 0)
    assert split(under(paused(covered + 0.02), "keep-alive-three"))[-1] == ("r2", 200_100, 0, 0)


def test_steady_refreshes_end_after_thirty() -> None:
    assert len(pings(paused(10 * 60), "keep-alive-steady")) == 30
    assert pings(paused(120, ttl=3_600), "keep-alive-steady") == [54 * MINUTE, 108 * MINUTE]


def test_one_hour_only() -> None:
    assert pings(paused(40), "keep-alive-hour") == []
    assert pings(paused(90, ttl=3_600), "keep-alive-hour") == [54 * MINUTE]


def test_a_thinking_budget_cannot_be_replayed_with_one_token() -> None:
    budget = (("thinking", '{"budget_tokens":4096,"type":"enabled"}'),)
    assert pings(paused(6, settings=budget), "keep-alive-steady") == []
    assert pings(paused(6, settings=(("thinking", '{"type":"adaptive"}'),)), "keep-alive-steady") == [270]


def test_subagents_are_not_refreshed() -> None:
    given = paused(6)
    alone = session(*(request(r.id, 0, r.prompt or [], lane="child") for r in given.requests[:1]))
    assert pings(alone, "keep-alive:after_last=true") == []


def test_refreshes_after_the_last_request_only_when_asked() -> None:
    given = session(*paused(6).requests[:1])
    assert pings(given, "keep-alive-three") == []
    assert pings(given, "keep-alive-three:after_last=true") == [285, 570, 855]


@pytest.mark.parametrize(("count", "sign"), [(11, 1), (12, -1)])
def test_eleven_refreshes_are_cheaper_than_one_rewrite_and_twelve_are_not(count: int, sign: int) -> None:
    # A rewrite costs 1.25 - 0.1 more than a read, a refresh 0.1: 11.5 of them cost as much.
    given = paused((count * 270 + 200) / MINUTE)
    assert len(pings(given, f"keep-alive:most={count}")) == count
    saved = saves(given, f"keep-alive:most={count}")
    assert saved == pytest.approx(200_000 * (1.15 - 0.1 * count))
    assert saved * sign > 0


@pytest.mark.parametrize(("count", "saved"), [(18, 20_000), (19, 0), (20, -20_000)])
def test_nineteen_refreshes_of_an_hour_cost_as_much_as_one_rewrite(count: int, saved: int) -> None:
    given = paused((count * 3_240 + 3_000) / MINUTE, ttl=3_600)
    assert saves(given, f"keep-alive:most={count}") == saved  # 200,000 · (1.9 - 0.1 · count)


def test_by_itself_it_stops_where_refreshing_costs_more() -> None:
    assert len(pings(paused(600), "keep-alive")) == 11
    assert len(pings(paused(3_000, ttl=3_600), "keep-alive")) == 19


def test_a_read_refreshes_the_entry() -> None:
    # A refresh at 240 s lets a request at 482 s read; without it the entry ended at 300 s.
    blocks = [*HEAD, block("history", 2_860)]
    given = session(request("r1", 0, blocks), request("r2", 482, blocks))
    assert split(given) == [("r1", 5_860, 0, 0), ("r2", 5_860, 0, 0)]
    refreshed = under(given, "keep-alive:fraction=0.8,most=1")
    assert [row[1:3] for row in split(refreshed)] == [(5_860, 0), (0, 5_860), (0, 5_860)]
    assert (equivalents(given) - equivalents(refreshed)) / 10**6 == 5_860 * 1.25 - 2 * 586


def test_a_refresh_at_the_very_limit_is_still_sent() -> None:
    assert pings(paused(40), "keep-alive-steady:max_idle=540") == [270, 540]
    assert pings(paused(40), "keep-alive-steady:max_idle=539") == [270]


def test_a_copy_of_another_session_is_refreshed_in_no_total() -> None:
    given = paused(6)
    copies = tuple(msgspec.structs.replace(r, counted=False) for r in given.requests)
    (ping,) = [r for r in under(msgspec.structs.replace(given, requests=copies), "keep-alive").requests if "/" in r.id]
    assert not ping.counted
