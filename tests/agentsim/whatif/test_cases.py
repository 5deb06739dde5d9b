"""Cases from public reports, tried as what-ifs: does the fix help, by how much, and with which sign?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from agentsim.core.money import dollars
from agentsim.core.prompt import Block
from agentsim.core.session import Request, Session
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import NAMES, parse
from tests.agentsim.whatif.policies.small import HEAD, MINUTE, block, request, rows, saves, session, split, under

MICRO = 10**6


def fleet(gaps: Sequence[float], *, context: int = 50_000, turn: int = 2_000, ttl: int = 300) -> Session:
    """One request, and one after each gap (in minutes), each adding ``turn`` tokens."""
    blocks: list[Block] = [*HEAD, block("context", context - 3_000)]
    when, requests = 0.0, [request("r0", 0, blocks, ttl=ttl)]
    for number, gap in enumerate(gaps, 1):
        when += gap * MINUTE
        blocks = [*blocks, block(f"turn {number}", turn)]
        requests.append(request(f"r{number}", when, blocks, ttl=ttl))
    return session(*requests)


BUSY = (
    [1.0] * 20 + [20.0] + [1.0] * 179
)  # one pause in 200, as in a history where an hour alone rescues 0.5 % of the gaps
RETURNING = [1.0, 15.0, 1.0, 25.0, 1.0, 40.0] * 6  # a person comes back after 10 to 60 minutes, again and again


@pytest.mark.parametrize(("gaps", "sign"), [(BUSY, -1), (RETURNING, 1)])
def test_an_hour_pays_only_where_many_pauses_fall_between_the_lifetimes(gaps: list[float], sign: int) -> None:
    given = fleet(gaps)
    saved = saves(given, "ttl-1h")
    assert saved * sign > 0
    # The same from the sums alone: 0.75 · written - 1.9 · rewritten after pauses of 5 to 60 minutes.
    written = sum(row.usage.write or 0 for row in rows(given))
    late = [row for row, gap in zip(rows(given)[1:], gaps, strict=True) if gap > 5]
    rewritten = sum((row.usage.write or 0) - 2_000 for row in late)
    assert -saved == pytest.approx(0.75 * written - 1.9 * rewritten)
    assert (rewritten / written > 0.75 / 1.9) == (sign > 0)


def test_pauses_beyond_an_hour_are_lost_either_way() -> None:
    # Hits end at 60 minutes: 59 are rescued, 61 only cost more.
    assert saves(fleet([59.0]), "ttl-1h") > 0
    assert saves(fleet([61.0]), "ttl-1h") == -(50_000 + 52_000) * 0.75


def test_children_that_never_pause_need_no_hour() -> None:
    main = fleet([30.0], ttl=3_600).requests
    child = [
        request(f"c{n}", 10 + 40 * n, [*HEAD, *(block(f"step {i}", 4_000) for i in range(n + 1))], lane="c", ttl=3_600)
        for n in range(20)
    ]
    given = session(*main, *child)
    written = sum(row.usage.write_long or 0 for row in rows(given) if row.request.lane == "c")
    # No gap exceeds 300 s: the premium of 0.75 on all that the child wrote bought nothing.
    assert saves(given, "ttl-lanes") == written * 0.75 > 0
    assert written == 3_000 + 20 * 4_000
    # The parent is judged apart: it does pause, and five minutes would cost it more.
    assert saves(given, "ttl-lanes:main=5m,children=as-is") < 0


HAIKU = "claude-haiku-4-5"


def compactions(count: int, written: int) -> Session:
    """Requests that write a prompt nobody sends again; together they write exactly ``written`` tokens."""
    sizes = [written // count + (n < written % count) for n in range(count)]
    return session(
        *(
            request(f"s{n}", 600 * n, [block(f"history {n}", size)], purpose="summary", lane=f"s{n}", model=HAIKU)
            for n, size in enumerate(sizes)
        )
    )


def test_a_summary_that_nobody_reads_was_written_for_32_cents_too_much() -> None:
    given = compactions(70, 1_278_055)
    sums = compare(given, ["uncached-one-shots"])
    assert (sums.recorded.written, sums.recorded.read) == (1_278_055, 0)
    (outcome,) = sums.outcomes
    assert outcome.saving is not None
    assert dollars(outcome.saving) * 1_000_000 == 1_278_055 * 25 / 100  # a quarter of $1 a million
    assert f"{dollars(outcome.saving):.2f}" == "0.32"


def test_riding_on_the_conversation_saves_far_more_than_dropping_the_marker() -> None:
    talk = [*HEAD, block("conversation", 97_000)]
    retold = block("all of it as text", 18_000)
    given = session(
        request("r1", 0, talk, model=HAIKU),
        request("sum", 60, [retold], purpose="summary", lane="s", model=HAIKU),
    )
    assert saves(given, "uncached-one-shots") == 18_000 * 0.25
    assert saves(given, "compact-warm") == 18_000 * 1.25 - 100_000 * 0.1 - 500
    assert saves(given, "compact-warm") > 2 * saves(given, "uncached-one-shots")


def scratchpad(turns: int, edited: set[int]) -> Session:
    """A prompt of 181,000 tokens whose second message holds a counter in words: rendered anew in some turns."""
    task, rest = block("task", 374), [block(f"history {n}", 17_963) for n in range(10)]
    head = [block("you are an agent", 1_000, "system"), task]
    version, requests = 0, []
    for turn in range(turns):
        version += turn in edited
        words = f"Steps taken so far: {version}.\n" + "plan " * 1_200
        blocks = [*head, block(words, 0 if turn < 0 else 1_000), *rest]
        rest = [*rest, block(f"turn {turn}", 300)]
        requests.append(request(f"r{turn}", 30 * turn, blocks, (0, -1)))
    return session(*requests)


def test_no_marker_helps_when_an_early_message_is_edited() -> None:
    given = scratchpad(12, {4, 8})
    lost = [row for row in split(given) if row[2] < 2_000]
    assert [row[0] for row in lost] == ["r0", "r4", "r8"]
    # What is equal in front of the edit is all that any marker can save: 1,374 of some 182,000 tokens.
    for name in [name for name in NAMES if name.startswith("marker-")]:
        policy = parse(name)
        if policy.applies(given) is None:
            assert all(row[2] <= 1_374 for row in split(policy.rewrite(given)) if row[0] in ("r4", "r8"))
            assert saves(given, name) <= 2 * 1_374 * 1.15 + 300 * 0.5
    # Moved behind the last marker, 1,000 tokens are fresh in each of 12 turns, and 180,000 are read twice more.
    moved = under(given, "volatile-last")
    assert all(row[2] > 180_000 for row in split(moved)[1:])
    assert saves(given, "volatile-last") > 2 * 180_000 * 1.15 - 12 * 1_000 - 1_250


def test_only_the_counter_moves_where_its_text_is_known() -> None:
    given = scratchpad(12, {4, 8})
    fresh = {row[3] for row in split(under(given, "volatile-last"))}
    # 23 of 6,023 characters of 1,000 tokens: 4 tokens.
    assert fresh == {4}


def test_a_marker_far_before_the_part_that_varies() -> None:
    # Agents whose prompts share 11,346 tokens and part in their last words; markers stand at 6,076 and at the end.
    shared = [block("tools", 6_076, "system"), block("instructions", 5_270)]
    given = session(
        *(
            request(f"a{n}", 60 * n, [*shared, block(f"topic {n}", 28)], (0, -1), lane=f"a{n}", model="claude-opus-4-8")
            for n in range(4)
        )
    )
    assert [row[1:3] for row in split(given)] == [(11_374, 0), (5_298, 6_076), (5_298, 6_076), (5_298, 6_076)]
    # A marker behind the instructions: three agents read 5,270 tokens more.
    assert saves(given, "marker-best") == pytest.approx(3 * 5_270 * 1.15, rel=0.01)
    best = under(given, "marker-best")
    assert [row[2] for row in split(best)][1:] == [11_346] * 3


def late(second: Request) -> Session:
    return session(request("r0", 0, [*HEAD, block("context", 55_062)]), second)


def test_one_pause_of_seven_minutes() -> None:
    # 58,062 tokens written again after 430 s; an hour would have read them.
    given = late(request("r1", 430, [*HEAD, block("context", 55_062)]))
    assert split(given)[1] == ("r1", 58_062, 0, 0)
    assert saves(given, "keep-alive") == pytest.approx(58_062 * 1.15 - 58_062 * 0.1)
    assert saves(given, "ttl-1h") == pytest.approx(58_062 * (1.25 - 0.1) - 58_062 * 0.75)


def begun_warm(recorded: int) -> Session:
    """A main lane whose person pauses for 20 minutes, and children that never pause for long. The log begins after the
    first request of the main lane, so that its first row reads what none has written."""
    requests, when = [], 0.0
    for turn in range(14):
        blocks = [*HEAD, block("context", 60_000), *(block(f"turn {n}", 1_000) for n in range(turn + 1))]
        requests.append(request(f"m{turn}", when, blocks, ttl=recorded))
        for step in range(5):
            work = [*HEAD, block(f"brief {turn}", 8_000), *(block(f"work {turn} {n}", 6_000) for n in range(step + 1))]
            requests.append(
                request(
                    f"c{turn}.{step}", when + 20 + 25 * step, work, lane=f"c{turn}", ttl=recorded, purpose="subagent"
                )
            )
        when += 25 * MINUTE
    lived = session(*requests)
    served = {row.request.id: row.usage for row in rows(lived)}
    kept = [
        msgspec.structs.replace(one, prompt=None, settings=(), usage=served[one.id], parent=None)
        for one in lived.requests[1:]
    ]
    return msgspec.structs.replace(lived, requests=tuple(kept), completeness="usage")


@pytest.mark.parametrize("recorded", [300, 3_600])
def test_an_hour_for_the_main_lane_alone_wins_where_it_wins_although_the_log_begins_warm(recorded: int) -> None:
    names = ["ttl-5m", "ttl-1h", "ttl-main-1h", "ttl-children-1h"]
    comparison = compare(begun_warm(recorded), names)
    saved = {outcome.policy.name: outcome.saving or 0 for outcome in comparison.outcomes}
    assert max(saved, key=lambda name: saved[name]) == "ttl-main-1h"
    best = next(outcome for outcome in comparison.outcomes if outcome.policy.name == "ttl-main-1h")
    assert best.interval is not None
    assert best.interval.low > 0
