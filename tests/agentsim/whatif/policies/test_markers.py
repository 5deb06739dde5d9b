"""Where markers stand."""

from __future__ import annotations

from agentsim.core.prompt import Breakpoint
from agentsim.core.session import Session
from agentsim.whatif.policies import parse
from agentsim.whatif.policies.session_rewriting import in_order, moved
from tests.agentsim.whatif.policies.small import HEAD, block, request, saves, session, split, under


def grown(count: int, marks: tuple[int, ...] = (1, -1)) -> Session:
    """A turn that adds ``count`` blocks of 100 tokens to a prompt of 20,000."""
    start = [*HEAD, block("task", 17_000)]
    return session(
        request("r1", 0, start, marks),
        request("r2", 60, [*start, *(block(f"part {n}", 100) for n in range(count))], marks),
    )


def positions(given: Session) -> list[list[int]]:
    return [[m.position for m in r.prompt.breakpoints] for r in given.requests if r.prompt is not None]


def test_nineteen_new_blocks_are_within_reach_and_twenty_are_not() -> None:
    assert split(grown(19))[1] == ("r2", 1_900, 20_000, 0)
    assert split(grown(20))[1] == ("r2", 19_000, 3_000, 0)


def test_a_marker_where_the_previous_request_ended() -> None:
    given = under(grown(20), "marker-previous")
    assert positions(given) == [[1, 2], [1, 2, 22]]
    assert split(given)[1] == ("r2", 2_000, 20_000, 0)
    assert saves(grown(20), "marker-previous") == 17_000 * 1.15


def test_markers_spread_over_what_a_turn_adds() -> None:
    given = under(grown(50), "marker-spread")
    # 53 blocks: markers at 52, 32 and 12, whose window of 20 reaches the old end at 2; the head's makes four.
    assert positions(given)[1] == [1, 12, 32, 52]
    assert split(given)[1] == ("r2", 5_000, 20_000, 0)
    assert split(grown(50))[1] == ("r2", 22_000, 3_000, 0)


def test_never_more_than_four_markers() -> None:
    given = grown(100)
    assert all(len(marks) <= 4 for marks in positions(under(given, "marker-spread")))
    full = grown(30, (0, 1, 2, -1))
    moved = under(full, "marker-spread:gap=5")
    assert all(len(marks) <= 4 for marks in positions(moved))
    assert all(marks[-1] == len(r.prompt or ()) - 1 for marks, r in zip(positions(moved), moved.requests, strict=True))


def test_markers_for_a_session_without_any() -> None:
    bare = grown(3, ())
    assert saves(bare, "marker-last") == 20_000 * (1 - 1.25) + 20_000 * 0.9 + 300 * (1 - 1.25)
    # The head alone: 3,000 written once and read once.
    assert saves(bare, "marker-system") == 3_000 * (1 - 1.25) + 3_000 * 0.9
    assert positions(under(bare, "marker-system:tools=true")) == [[0, 1], [0, 1]]
    best = parse("marker-best").resolved(bare)
    assert best.spec == "marker-best:places=last"
    assert saves(bare, "marker-best") == saves(bare, "marker-last") == saves(bare, best)


def test_the_best_markers_keep_a_lookback_in_mind() -> None:
    # The old end is 22 blocks back: only a marker there, or one 20 blocks before the last, finds it.
    assert saves(grown(22), "marker-best") == 17_000 * 1.15


def test_unknown_places_are_named() -> None:
    assert parse("marker-best:places=last+middle").applies(grown(1)) == (
        "no place is called 'middle': there are last, system, tools, previous, next, lookback, common"
    )


def test_markers_that_stand_already() -> None:
    for name in ("marker-last", "marker-system", "marker-spread"):
        assert parse(name).applies(grown(1)) == "markers stand there already"


def test_a_new_marker_lives_as_long_as_the_one_behind_it() -> None:
    start = [*HEAD, block("task", 17_000)]
    given = session(request("r1", 0, start, ttl=3_600))
    (markers,) = [r.prompt.breakpoints for r in under(given, "marker-system").requests if r.prompt is not None]
    assert [(m.position, m.ttl) for m in markers] == [(1, 3_600), (2, 3_600)]


def fan_out(apart: float) -> Session:
    """Two children share 20,000 tokens and part at their last block of 33; ``apart`` seconds lie between them."""
    shared = [*HEAD, block("map", 17_000)]
    return session(
        request("a", 0, [*shared, block("first task", 33)], (1, -1), lane="a"),
        request("b", apart, [*shared, block("second task", 33)], (1, -1), lane="b"),
    )


def test_waiting_until_the_first_answer_begins() -> None:
    # The first token comes after 2 s.
    for apart in (0.0, 1.0):
        given = under(fan_out(apart), "stagger-fan-out")
        assert split(given) == [("a", 20_033, 0, 0), ("b", 33, 20_000, 0)]
        first, second = given.requests
        assert (second.start or 0) - (first.start or 0) == 2 * 10**9
    assert saves(fan_out(0), "stagger-fan-out") == 17_000 * 1.15 + 3_000 * 1.15


def test_siblings_that_come_later_need_no_waiting() -> None:
    assert parse("stagger-fan-out").applies(fan_out(2)) == "no requests that share a front are sent together"


def test_a_limit_to_the_waiting() -> None:
    given = under(fan_out(0), "stagger-fan-out:limit=1")
    assert split(given)[1] == ("b", 20_033, 0, 0)


def test_a_delayed_lane_stays_in_order() -> None:
    first, second = fan_out(0).requests
    third = request("b2", 1, [*(second.prompt or ()), block("result", 50)], (1, -1), lane="b")
    given = under(session(first, second, third), "stagger-fan-out")
    starts = {r.id: r.start or 0 for r in given.requests}
    assert starts["b2"] - starts["b"] == 10**9
    assert [r.id for r in given.requests] == ["a", "b", "b2"]


def test_the_best_markers_find_what_lanes_share() -> None:
    # Ten seconds apart, the second reads only the head; a marker behind the map saves 17,000 more.
    assert split(fan_out(10))[1] == ("b", 17_033, 3_000, 0)
    assert saves(fan_out(10), "marker-best") >= 17_000 * 1.15


def test_a_front_that_is_too_short_to_be_kept_is_none() -> None:
    def pair(shared: int) -> Session:
        common = block("map", shared)
        return session(*(request(n, 0, [common, block(f"task {n}", 9_000)], lane=n) for n in ("a", "b")))

    assert parse("stagger-fan-out").applies(pair(1_023)) == "no requests that share a front are sent together"
    assert parse("stagger-fan-out").applies(pair(1_024)) is None


def test_no_marker_stands_behind_a_longer_lived_one() -> None:
    # A provider refuses short before long: what stands in front lives at least as long.
    assert in_order({5: 3_600, 0: 300, 9: 300}) == [Breakpoint(0, 3_600), Breakpoint(5, 3_600), Breakpoint(9, 300)]
    assert moved([Breakpoint(1, 300), Breakpoint(2, 3_600)], lambda _: 4) == [Breakpoint(4, 3_600)]


def test_what_a_lane_sent_before_the_fan_out_keeps_its_time() -> None:
    first, second = fan_out(0).requests
    early = request("b0", -100, [*HEAD, block("warm-up", 5_000)], lane="b")
    given = under(session(early, first, second), "stagger-fan-out")
    starts = {r.id: (r.start or 0) - (first.start or 0) for r in given.requests}
    assert starts == {"b0": -100 * 10**9, "a": 0, "b": 2 * 10**9}
