"""The world of breakpoints against published figures: the fourteen rows, and the vendor's worked cases."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.breakpoint_world import Billed, BreakpointWorld, Sent
from benchmarks.verdicts.documented_rules import OPUS_5, OPUS_45, OPUS_48
from benchmarks.verdicts.wire_positions import Position


def block(name: str, tokens: int, section: str = "messages", lifetime: int | None = None) -> Position:
    return Position(section, "text", name, tokens, None, None, 0, 0, None, name, "", lifetime)  # type: ignore[arg-type]


def marked(blocks: list[Position], *places: int, lifetime: int = 300) -> list[Position]:
    from dataclasses import replace

    wanted = {place % len(blocks) for place in places}
    return [replace(b, lifetime=lifetime if at in wanted else b.lifetime) for at, b in enumerate(blocks)]


def sent(start: float, took: float = 20, *, choice: str | None = None, model: str = "claude-opus-4-8") -> Sent:
    body = {"model": model} | ({"tool_choice": {"type": choice}} if choice else {})
    return Sent(body, start, start + min(4.0, took / 2), start + took)


def head(with_query: bool) -> list[Position]:
    names = ["a", "b", "c", "d"]
    tools = [block(f"tool {name}", 1_300, "tools") for name in names]
    if with_query:
        tools.insert(2, block("tool db_query", 350, "tools"))
    return [*tools, block("system", 1_800, "system", lifetime=300)]


def serve(world: BreakpointWorld, blocks: list[Position], what: Sent) -> Billed:
    return world.serve(marked(blocks, -1), what, world.rules)


def test_the_fourteen_rows() -> None:
    world = BreakpointWorld(OPUS_48)
    history = [block("task", 1_500)]
    rows: list[tuple[int, int, int]] = []

    def ask(
        start: float, took: float, *, query: bool = True, choice: str | None = None, more: int | None = None
    ) -> None:
        nonlocal history
        if more is not None:
            number = len(history)
            history += [block(f"text {number}", 100), block(f"call {number}", 200), block(f"result {number}", more)]
        billed = serve(world, [*head(query), *history], sent(start, took, choice=choice))
        rows.append((billed.total, billed.write_short, billed.read))

    ask(0, 20, query=False)
    ask(30, 15, query=False, more=1_200)
    ask(55, 18, query=False, more=1_200)
    ask(80, 25, query=False, more=21_000)
    ask(115, 15, more=1_200)
    ask(140, 150, more=1_200)
    ask(475, 20, more=1_200)
    ask(505, 15, more=1_200)
    ask(530, 15, more=1_200, choice="any")
    ask(555, 15, more=1_200)
    history += [block("reply", 120), *(block(f"file {n}", 400) for n in range(24))]
    ask(580, 20)
    shared = [*history, block("reply 2", 300), block("repo map", 30_000)]
    for name in "abc":
        history = [*shared, block(f"instructions {name}", 200)]
        ask(610, 25)
    assert rows == [
        (8_500, 8_500, 0),
        (10_000, 1_500, 8_500),
        (11_500, 1_500, 10_000),
        (32_800, 21_300, 11_500),
        (34_650, 34_650, 0),
        (36_150, 1_500, 34_650),
        (37_650, 37_650, 0),
        (39_150, 1_500, 37_650),
        (40_650, 33_300, 7_350),
        (42_150, 3_000, 39_150),
        (51_870, 44_520, 7_350),
        *((82_370, 30_500, 51_870),) * 3,
    ]
    assert sum(write for _, write, _ in rows) == 280_420
    assert sum(read for _, _, read in rows) == 311_760


@pytest.mark.parametrize(("back", "read"), [(19, True), (20, False)])
def test_an_entry_nineteen_blocks_back_is_found_and_one_twenty_back_is_not(back: int, read: bool) -> None:
    world = BreakpointWorld(OPUS_5)
    blocks = [block(f"b{n}", 100) for n in range(15)]
    serve(world, blocks, sent(0))
    blocks += [block(f"new {n}", 10) for n in range(back)]
    assert (serve(world, blocks, sent(30)).read == 1_500) is read


@pytest.mark.parametrize(("after", "read"), [(299.9, 2_000), (300.0, 0)])
def test_a_lifetime_counts_from_the_start_of_the_request(after: float, read: int) -> None:
    world = BreakpointWorld(OPUS_48)
    serve(world, [block("a", 2_000)], sent(0, 200))
    assert serve(world, [block("a", 2_000)], sent(after)).read == read


def test_a_read_refreshes_what_it_read_through() -> None:
    world = BreakpointWorld(OPUS_48)
    first = [block("a", 2_000)]
    second = [*first, block("b", 100)]
    serve(world, first, sent(0))
    serve(world, second, sent(200))
    serve(world, second, sent(400))
    assert serve(world, [*first, block("c", 100)], sent(650)).read == 2_000


@pytest.mark.parametrize(("tokens", "written"), [(4_095, 0), (4_096, 4_096)])
def test_below_the_minimum_nothing_is_kept(tokens: int, written: int) -> None:
    world = BreakpointWorld(OPUS_45)
    billed = serve(world, [block("a", tokens)], sent(0, model="claude-opus-4-5"))
    assert (billed.write_short, billed.fresh) == (written, tokens - written)


@pytest.mark.parametrize(("wait", "read"), [(3.9, 0), (4.0, 2_000)])
def test_an_entry_can_be_read_once_the_first_response_began(wait: float, read: int) -> None:
    world = BreakpointWorld(OPUS_48)
    serve(world, [block("a", 2_000)], sent(0))
    assert serve(world, [block("a", 2_000)], sent(wait)).read == read


def test_mixed_lifetimes_are_billed_to_the_last_marker_of_each() -> None:
    world = BreakpointWorld(OPUS_48)
    system = block("system", 2_000, "system", lifetime=3600)
    blocks = [system, block("a", 500, lifetime=3600), block("b", 300, lifetime=300), block("c", 50)]
    billed = world.serve(blocks, sent(0), world.rules)
    assert (billed.write_long, billed.write_short, billed.fresh) == (2_500, 300, 50)
    billed = world.serve(blocks, sent(400), world.rules)
    assert (billed.read, billed.write_long, billed.write_short, billed.fresh) == (2_500, 0, 300, 50)


def test_a_marker_of_an_hour_behind_one_of_five_minutes_is_refused() -> None:
    world = BreakpointWorld(OPUS_48)
    blocks = [block("a", 2_000, lifetime=300), block("b", 500, lifetime=3600)]
    with pytest.raises(ValueError, match="400"):
        world.serve(blocks, sent(0), world.rules)


def test_a_fifth_marker_is_refused() -> None:
    world = BreakpointWorld(OPUS_48)
    with pytest.raises(ValueError, match="400"):
        world.serve(marked([block(f"b{n}", 500) for n in range(5)], 0, 1, 2, 3, 4), sent(0), world.rules)
