"""Text that changes by itself, results that are cleared, histories that are summed up."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.prompt import Block
from agentsim.core.session import Event, Session
from agentsim.whatif.policies import parse
from agentsim.whatif.policies.compact import CompactEarlier
from agentsim.whatif.policies.summary_policy import own_kept
from tests.agentsim.whatif.policies.small import MINUTE, block, request, saves, session, split, tool, under

TOOL = tool("read", 1_200)
SYSTEM = block("you are an agent", 1_800, "system")


def clocked(*, text: bool) -> Session:
    """Four turns; a clock stands in the second of three lines of a system text of 12,000 tokens."""
    requests = []
    history: list[Block] = [block("task", 1_000)]
    for number in range(4):
        words = "You are X.\n" * 120 + f"Now: 2026-03-06 10:15:0{number}\n" + "Be brief.\n" * 60
        clock = block(words, 12_000, "system", text=words if text else None)
        requests.append(request(f"r{number}", 20 * number, [TOOL, clock, *history], (1, -1)))
        history += [block(f"turn {number}", 500)]
    return session(*requests)


def test_a_clock_in_the_system_text_loses_everything() -> None:
    assert [row[1:3] for row in split(clocked(text=True))] == [(14_200 + 500 * n, 0) for n in range(4)]


def test_only_the_line_that_changes_moves() -> None:
    given = under(clocked(text=True), "volatile-last")
    first = given.requests[0].prompt
    assert first is not None
    moved = first[len(first) - 1]
    assert (moved.section, moved.text) == ("messages", "Now: 2026-03-06 10:15:00")
    # The line has 24 of 1,945 characters: 12,000 · 1,921 // 1,945 = 11,851 stay, 149 move.
    rows = split(given)
    assert rows[0] == ("r0", 14_200 - 149, 0, 149)
    assert rows[1] == ("r1", 500, 14_051, 149)
    assert sum(row[1] + row[2] + row[3] for row in rows) == sum(14_200 + 500 * n for n in range(4))


def test_without_text_the_whole_block_moves() -> None:
    rows = split(under(clocked(text=False), "volatile-last"))
    assert rows[1] == ("r1", 500, 2_200, 12_000)


def test_one_edit_is_not_volatile() -> None:
    given = session(*clocked(text=True).requests[:2])
    assert parse("volatile-last").applies(given) == "no block is edited in place that often"
    assert parse("volatile-last:least=1").applies(given) is None


def pruned(clearings: int) -> Session:
    """Each turn reads a file of 2,000 tokens; from the third on, the oldest full result is cleared to 10."""
    requests = []
    for number in range(clearings + 3):
        results = [
            block(f"cleared {n}", 10) if n < number - 2 else block(f"result {n}", 2_000) for n in range(number + 1)
        ]
        requests.append(request(f"r{number}", 30 * number, [TOOL, SYSTEM, *results], (1, -1)))
    return session(*requests)


def test_each_clearing_rewrites_what_stands_behind_it() -> None:
    # r3 has one cleared and three full results: all behind the head of 3,000 is written again.
    assert split(pruned(3))[3] == ("r3", 6_010, 3_000, 0)
    assert split(pruned(3))[4] == ("r4", 6_020, 3_000, 0)


def test_clearings_in_batches() -> None:
    given = under(pruned(3), "prune-batched:every=3")
    assert [row[1:3] for row in split(given)][3:] == [
        (2_000, 9_000),  # four full results
        (2_000, 11_000),  # five
        (6_030, 3_000),  # the third clearing: three at once
    ]


def test_no_clearing_before_the_history_is_compacted() -> None:
    given = under(pruned(3), "prune-at-compaction")
    assert [row[1:3] for row in split(given)][3:] == [(2_000, 9_000), (2_000, 11_000), (2_000, 13_000)]
    assert parse("prune-at-compaction").applies(pruned(0)) == "no old results are cleared"


def long_session(turns: int, gap: float = 60, size: int = 10_000, **more) -> Session:
    """Each turn adds ``size`` tokens."""
    return session(
        *(
            request(
                f"r{n}", gap * n, [TOOL, SYSTEM, *(block(f"part {i}", size) for i in range(n + 1))], (1, -1), **more
            )
            for n in range(turns)
        )
    )


def test_compacting_earlier() -> None:
    given = under(long_session(6), "compact-earlier:at=40000,summary_tokens=2000,instruction_tokens=300")
    # r3 would have 43,000 tokens: it is summed up before it is sent, with its own 10,000, and sent as head and summary.
    assert split(given) == [
        ("r0", 13_000, 0, 0),
        ("r1", 10_000, 13_000, 0),
        ("r2", 10_000, 23_000, 0),
        ("r3/summary", 10_000, 33_000, 300),
        ("r3", 2_000, 3_000, 0),
        ("r4", 10_000, 5_000, 0),
        ("r5", 10_000, 15_000, 0),
    ]
    (summary,) = [r for r in given.requests if r.purpose == "summary"]
    assert summary.usage is not None
    assert summary.usage.output == 2_000
    assert (summary.start, summary.parent) == (given.requests[4].start, "r2")


@pytest.mark.parametrize(("limit", "compacts"), [(42_999, True), (43_000, False)])
def test_a_prompt_longer_than_the_limit_is_compacted(limit: int, compacts: bool) -> None:
    spec = parse(f"compact-earlier:at={limit},summary_tokens=2000")
    assert (spec.applies(long_session(4)) is None) == compacts


def test_short_histories_are_not_worth_a_summary() -> None:
    assert parse("compact-earlier:at=13000").applies(long_session(1)) == "no history grows beyond 13,000 tokens"
    two = long_session(2, size=5_900)  # 11,800 tokens of history in the second request
    reason = "no history grows beyond 1,000 tokens"
    assert parse("compact-earlier:at=1000,summary_tokens=5901").applies(two) == reason
    assert parse("compact-earlier:at=1000,summary_tokens=5900").applies(two) is None


def test_what_is_read_again_comes_back_in_requests_of_its_own() -> None:
    spec = "compact-earlier:at=40000,summary_tokens=2000,instruction_tokens=300,reread_tokens=1000,reread_requests=3"
    given = under(long_session(6), spec)
    assert split(given)[4:] == [
        ("r3/again-1", 2_333, 3_000, 0),
        ("r3/again-2", 333, 5_333, 0),
        ("r3/again-3", 334, 5_666, 0),
        ("r3", 0, 6_000, 0),
        ("r4", 10_000, 6_000, 0),
        ("r5", 10_000, 16_000, 0),
    ]


def test_a_recorded_compaction_that_a_shorter_history_would_not_have_had_is_undone() -> None:
    spec = "compact-earlier:at=50000,summary_tokens=2000,instruction_tokens=300"
    # r5 has 63,000 tokens in the log, and 15,000 once r4's 53,000 became 2,000: it is not compacted at r6 as well.
    assert split(under(compacted_at(6), spec))[4:] == [
        ("r4/summary", 10_000, 43_000, 300),
        ("r4", 2_000, 3_000, 0),
        ("r5", 10_000, 5_000, 0),
        ("r6", 10_000, 15_000, 0),
        ("r7", 10_000, 25_000, 0),
        ("r8", 10_000, 35_000, 0),
        ("r9/summary", 10_000, 45_000, 300),
        ("r9", 2_000, 3_000, 0),
    ]


def test_what_was_read_again_after_a_compaction_that_is_undone_is_not_read_twice() -> None:
    spec = "compact-earlier:at=52000,summary_tokens=2000,reread_tokens=1000,reread_requests=2"
    # The first summary of ours stands for the recorded one, after which the log shows what was read; r9's does not.
    ours = [r.id for r in under(compacted_at(6), spec).requests if "again" in r.id or r.id.endswith("/summary")]
    assert ours == ["r4/summary", "r9/summary", "r9/again-1", "r9/again-2"]


def test_a_conversation_that_begins_with_a_compacted_one_is_short_too() -> None:
    main = long_session(6)
    parts = [block(f"part {i}", 10_000) for i in range(6)]
    child = request("c0", 400, [TOOL, SYSTEM, *parts, block("brief", 500)], (1, -1), lane="child", purpose="subagent")
    given = under(session(*main.requests, child), "compact-earlier:at=40000,summary_tokens=2000,instruction_tokens=300")
    assert split(given)[-1] == ("c0", 500, 25_000, 0)  # it read 63,000 in the log


def test_a_compaction_that_a_person_asked_for_stays() -> None:
    asked = Event(kind="compaction", time=None, lane="main", before="r6", detail="manual")
    given = msgspec.structs.replace(compacted_at(6), events=(asked,))
    spec = "compact-earlier:at=50000,summary_tokens=2000,instruction_tokens=300"
    assert split(under(given, spec))[6:9] == [("r5", 10_000, 5_000, 0), ("sum", 30_500, 0, 0), ("r6", 12_000, 3_000, 0)]


def test_a_recorded_compaction_below_the_limit_stays() -> None:
    assert parse("compact-earlier:at=63000").applies(compacted_at(6)) == "no history grows beyond 63,000 tokens"
    kept = under(compacted_at(6), "compact-earlier:at=42000,summary_tokens=2000")
    assert [r.id for r in kept.requests if r.id.endswith("/summary")] == ["r3/summary", "r7/summary"]


def test_what_is_kept_is_measured_in_the_session_or_taken_from_its_harness() -> None:
    assert own_kept(compacted_at(6)) == 12_000
    assert own_kept(long_session(3)) is None
    policy = parse("compact-earlier")
    assert isinstance(policy, CompactEarlier)
    kept = [policy.shape(msgspec.structs.replace(long_session(3), harness=name)).kept for name in ("codex", "mine")]
    assert kept == [20_000, 3_000]
    known = parse("compact-earlier:summary_tokens=7000,own_first=true")
    assert isinstance(known, CompactEarlier)
    assert [known.shape(given).kept for given in (compacted_at(6), long_session(3))] == [12_000, 7_000]


def test_compacting_before_a_pause() -> None:
    long = long_session(2, gap=20 * MINUTE, size=150_000)
    given = under(long, "compact-before-expiry:summary_tokens=2000,instruction_tokens=300")
    assert split(given) == [
        ("r0", 153_000, 0, 0),
        ("r0/summary", 0, 153_000, 300),
        ("r1", 155_000, 0, 0),  # 3,000 of head, the summary, and its own 150,000: nothing survived the pause
    ]
    summary, first = given.requests[1], given.requests[0]
    assert (summary.start or 0) - (first.start or 0) == 285 * 10**9
    assert parse("compact-before-expiry").applies(long_session(2, gap=60, size=150_000)) is not None
    assert parse("compact-before-expiry").applies(long_session(2, gap=20 * MINUTE)) is not None


def compacted_at(turn: int) -> Session:
    """Ten turns of 10,000 tokens; before ``turn`` all of it became a summary of 2,000, asked for elsewhere."""
    requests = []
    for n in range(turn):
        parts = [block(f"part {i}", 10_000) for i in range(n + 1)]
        requests.append(request(f"r{n}", 60 * n, [TOOL, SYSTEM, *parts], (1, -1)))
    retold = [block("a summariser", 500, "system"), block("all of it as text", 30_000)]
    requests.append(request("sum", 60 * turn - 20, retold, lane="summaries", purpose="summary", output=2_000))
    for n in range(turn, 10):
        parts = [block("summary", 2_000), *(block(f"part {i}", 10_000) for i in range(turn, n + 1))]
        requests.append(request(f"r{n}", 60 * n, [TOOL, SYSTEM, *parts], (1, -1)))
    return session(*requests)


def test_compacting_later() -> None:
    given = compacted_at(6)
    assert split(given)[6:8] == [("sum", 30_500, 0, 0), ("r6", 12_000, 3_000, 0)]
    later = under(given, "compact-later:at=80000,summary_tokens=2000,instruction_tokens=300")
    # r7 would have 83,000 tokens by then.
    assert split(later)[5:] == [
        ("r5", 10_000, 53_000, 0),
        ("r6", 10_000, 63_000, 0),
        ("r7/summary", 10_000, 73_000, 300),
        ("r7", 2_000, 3_000, 0),
        ("r8", 10_000, 5_000, 0),
        ("r9", 10_000, 15_000, 0),
    ]
    assert parse("compact-later").applies(long_session(4)) == "no history is compacted"


def test_a_summary_that_reads_the_conversation() -> None:
    given = under(compacted_at(6), "compact-warm:instruction_tokens=300")
    assert split(given)[6] == ("sum", 0, 63_000, 300)
    # 30,500 written, against 63,000 read and 300 fresh.
    assert saves(compacted_at(6), "compact-warm:instruction_tokens=300") == pytest.approx(30_500 * 1.25 - 6_300 - 300)
    assert parse("compact-warm").applies(long_session(3)) == "no summary is asked for with a prompt of its own"


def test_a_summary_without_a_marker() -> None:
    assert saves(compacted_at(6), "uncached-one-shots") == 30_500 * 0.25
