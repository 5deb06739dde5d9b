"""Refreshes sized by pauses, and lifetimes by lane."""

from __future__ import annotations

from agentsim.core.session import Session
from agentsim.whatif.policies import policy
from agentsim.whatif.policies.keep_alive_own import OwnPause, best_number
from tests.agentsim.whatif.policies.small import HEAD, MINUTE, block, request, session


def pause(minutes: float | None) -> OwnPause:
    """A pause after a five-minute entry: a refresh costs 1, a rewrite 11.5 reads beyond the first."""
    return OwnPause(None if minutes is None else minutes * MINUTE, 300, 10, 115)


def test_one_refresh_carries_a_pause_over_nine_and_a_half_minutes() -> None:
    # Refreshed at 270 s, the entry lives until 570 s.
    assert best_number([pause(9.5)]) == 1
    assert best_number([OwnPause(571, 300, 10, 115)]) == 2
    assert best_number([pause(4)]) == 0


def test_pauses_that_never_ended_are_paid_for() -> None:
    assert best_number([pause(9), *[pause(None)] * 9]) == 1  # 10 refreshes for 100, a rewrite of 115
    assert best_number([pause(9), *[pause(None)] * 11]) == 0  # 12 for 120


def paused(minutes: float) -> Session:
    return session(
        request("r0", 0, [*HEAD, block("a", 9_000)], stop_reason="end_turn"),
        request("r1", minutes * MINUTE, [*HEAD, block("a", 9_000), block("b", 500)], stop_reason="end_turn"),
    )


def test_one_number_for_all_sessions() -> None:
    own = policy("keep-alive-own")
    fitted = own.fitted([paused(9), paused(9), paused(30)])
    assert fitted.spec == "keep-alive-own:most=1"
    assert own.applies(paused(50)) == "no refresh is worth it: too few of these pauses end in time"
    assert policy("keep-alive-own", most=3).fitted([paused(9)]).spec == "keep-alive-own:most=3"


def test_lifetimes_of_main_and_children() -> None:
    both = session(
        request("r0", 0, [*HEAD, block("a", 9_000)]),
        request("c0", 20, [*HEAD, block("job", 4_000)], lane="child", ttl=3600),
    )
    for name, main, child in (("ttl-main-1h", 3600, 300), ("ttl-children-1h", 300, 3600)):
        given = policy(name).rewrite(both)
        found = {r.id: {marker.ttl for marker in r.prompt.breakpoints} for r in given.requests if r.prompt is not None}
        assert found == {"r0": {main}, "c0": {child}}
        assert policy(name).applies(paused(9)) == "there are no subagents: ttl-5m and ttl-1h are the same"
