"""Writes that were paid for and never read: a published case, the readings that clear a write, and what always holds.

Prices a million tokens: Opus 4.8 $5 of ordinary input, Haiku 4.5 $1. A write for five minutes costs a quarter more, one
for an hour twice as much.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.money import format_dollars
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Row, Usage
from agentsim.diagnose import diagnose
from agentsim.diagnose.never_read import MOST_READERS, NeverRead, in_vain, never_read
from tests.agentsim.diagnose.test_rows import rows
from tests.agentsim.prompts import block, prompt, request, session, texts

QUARTER, WHOLE = 1_250_000, 5_000_000
"""Picodollars of surcharge a token at Opus 4.8, for five minutes and for an hour."""


def found(*specs: Mapping[str, object], **options: str) -> list[NeverRead | None]:
    return list(never_read(diagnose(rows(*specs, **options)).rows))


def unread(*specs: Mapping[str, object], **options: str) -> list[int]:
    return [one.unread if one is not None else 0 for one in found(*specs, **options)]


def test_c35_seventy_summaries_paid_32_cents_for_entries_that_nobody_read() -> None:
    # 70 compactions wrote 1,278,055 tokens: two rows are known, the others share the rest. 15 wrote nothing.
    others = [(1_278_055 - 7_506 - 11_544) // 53 + (number < 43) for number in range(53)]
    written = [7_506, 11_544, *others, *[0] * 15]
    assert (len(written), sum(written)) == (70, 1_278_055)
    haiku = {"model": "claude-haiku-4-5"}
    specs: list[dict[str, object]] = [{"t": 0, "read": 0, "write_short": 60_000, "fresh": 3, **haiku}]
    for number, tokens in enumerate(written):
        # The conversation goes on in time, and reads all of its own prefix.
        at, id = 120 * number, f"summary {number}"
        summary = {"id": id, "lane": id, "parent": None, "purpose": "summary"}
        specs.append({"t": at + 60, "read": 0, "write_short": tokens, "fresh": 3, **summary, **haiku})
        before = "r1" if not number else f"turn {number - 1}"
        turn = {"id": f"turn {number}", "parent": before}
        specs.append({"t": at + 120, "read": 60_000, "write_short": 0, "fresh": 400, **turn, **haiku})
    one_by_one = found(*specs)
    assert [one.unread for one in one_by_one if one is not None] == written[:55]
    assert {one.why for one in one_by_one if one is not None} == {"alone"}
    sums = in_vain(one_by_one)
    assert (sums.writes, sums.tokens) == (55, 1_278_055)
    assert sums.surcharge == 1_278_055 * 250_000  # a quarter of $1 a million, in picodollars a token
    assert format_dollars(sums.surcharge, 2) == "$0.32"


def test_the_last_turn_of_a_session_is_read_by_nobody() -> None:
    first, last = found({"t": 0, "read": 0, "write_short": 9_000}, {"t": 30, "read": 9_000, "write_short": 700})
    assert first is None
    assert last is not None
    assert (last.written, last.unread, last.surcharge, last.why) == (700, 700, 700 * QUARTER, "last")
    assert last.evidence == "implied"


def test_an_hour_costs_four_times_the_surcharge_of_five_minutes() -> None:
    (hour,) = found({"t": 0, "read": 0, "write_long": 1_000})
    assert hour is not None
    assert (hour.surcharge, hour.why) == (1_000 * WHOLE, "alone")


def test_what_lives_for_an_hour_stands_in_front_of_what_lives_for_minutes() -> None:
    # Of 1,000 tokens for an hour and 500 for five minutes behind them, the first 900 are read: 100 and 500 are not.
    first, _ = found(
        {"t": 0, "read": 0, "write_long": 1_000, "write_short": 500}, {"t": 60, "read": 900, "write_short": 0}
    )
    assert first is not None
    assert (first.unread, first.surcharge) == (600, 100 * WHOLE + 500 * QUARTER)


def test_an_hour_that_is_read_within_minutes_was_read() -> None:
    assert unread({"t": 0, "read": 0, "write_long": 9_000}, {"t": 60, "read": 9_000}) == [0, 0]


def test_the_next_turn_came_too_late() -> None:
    first, _ = found(
        {"t": 0, "took": 10, "read": 0, "write_short": 9_000}, {"t": 700, "took": 10, "read": 0, "write_short": 9_400}
    )
    assert first is not None
    assert (first.unread, first.why) == (9_000, "late")
    assert "700 s later" in first.established


def test_a_breakpoint_on_what_changes_each_time_is_paid_on_every_turn() -> None:
    # 8,000 tokens stay the same, 500 behind them never do.
    specs = [{"t": 20 * n, "read": 8_000 if n else 0, "write_short": 500 if n else 8_500} for n in range(4)]
    told = found(*specs)
    assert [one.unread for one in told if one is not None] == [500, 500, 500, 500]
    assert [one.written for one in told if one is not None] == [8_500, 500, 500, 500]
    assert [one.why for one in told if one is not None] == ["other", "other", "other", "last"]
    assert told[0] is not None
    assert "8,000 were read" in told[0].established


def test_an_entry_that_is_read_after_a_change_was_undone_was_read() -> None:
    # r2 asks with another setting and writes all anew; r3 is back at the old one, and reads what r1 wrote.
    specs = ({"t": 0, "read": 0, "write_short": 9_000}, {"t": 20, "read": 0, "write_short": 9_500})
    back = {"t": 40, "read": 9_000, "write_short": 900}
    assert unread(*specs, back)[0] == 0
    assert unread(*specs, {**back, "read": 9_500, "write_short": 400})[0] == 9_000, "this one reads the entry of r2"


def test_a_sibling_that_reads_the_common_head_clears_it() -> None:
    children = [{"t": 10 * n, "id": f"c{n}", "lane": f"c{n}", "parent": None, "purpose": "subagent"} for n in range(2)]
    specs = ({**children[0], "read": 0, "write_short": 9_000}, {**children[1], "read": 6_000, "write_short": 2_000})
    assert unread(*specs) == [3_000, 2_000]
    other_model = {**specs[1], "model": "claude-haiku-4-5"}
    assert unread(specs[0], other_model)[0] == 9_000, "each model has its own cache"
    assert unread(specs[0], {**specs[1], "t": 400})[0] == 9_000, "the entry cannot have lived so long"
    hour = {**specs[0], "write_short": 0, "write_long": 9_000}
    assert unread(hour, {**specs[1], "t": 400})[0] == 3_000, "an entry of an hour can"
    assert unread({**specs[0], "t": None}, specs[1])[0] == 3_000, "no time is known: it may have lived"


def test_a_lane_that_reads_its_own_entry_reads_no_other() -> None:
    main = {"t": 0, "read": 0, "write_short": 9_000}
    child = {"t": 20, "id": "c", "lane": "c", "parent": None, "purpose": "subagent", "read": 0, "write_short": 4_000}
    back = {"t": 40, "id": "back", "parent": "r1", "read": 9_000, "write_short": 100}
    assert unread(main, child, back) == [0, 4_000, 100]
    # Where its own entry has expired, somebody else must have kept or renewed what it reads.
    assert unread(main, {**child, "t": 380}, {**back, "t": 400}) == [0, 0, 100]
    # What goes beyond its own entry may be of another: of this one, if that reaches so far.
    longer = {**back, "read": 9_500}
    assert unread(main, {**child, "write_short": 9_800}, longer) == [0, 300, 100]
    assert unread(main, child, longer) == [0, 4_000, 100]


def test_prompts_tell_which_prefix_two_requests_share() -> None:
    head, other_head = block("head", 4_000, "system"), block("other", 3_000, "system")

    def of(name: str, at: int, body: Prompt, written: int, read: int, lane: str) -> Request:
        usage = Usage(fresh=0, write_short=written, read=read)
        return request(name, at, body, lane=lane, usage=usage)

    summary = of("summary", 0, prompt([other_head, *texts(1, 1_000, "old")], 1), 4_000, 0, "s")
    child = of("child", 30, prompt([head, *texts(1, 500, "task")], 1), 500, 4_000, "c")
    told = never_read(diagnose(session([summary, child])).rows)[0]
    assert told is not None
    assert (told.unread, told.evidence) == (4_000, "proved")
    # By counters alone the child's 4,000 tokens might be these.
    bare = [msgspec.structs.replace(one, prompt=None) for one in (summary, child)]
    assert never_read(diagnose(session(bare)).rows)[0] is None
    # With the head in common, the child may have read as much.
    sharing = of("summary", 0, prompt([head, *texts(1, 1_000, "old")], 1), 5_000, 0, "s")
    told = never_read(diagnose(session([sharing, child])).rows)[0]
    assert told is not None
    assert told.unread == 1_000


@pytest.mark.parametrize(
    ("what", "spec"),
    [
        ("no price is known", {"model": "a-model-that-nobody-sells"}),
        ("no surcharge", {"model": "gpt-4.1", "provider": "openai"}),
        ("copied from another session", {"counted": False}),
        ("several calls in one row", {"iterations": (Usage(write_short=500), Usage(write_short=500))}),
        ("nothing written", {"write_short": 0, "read": 1_000}),
        ("counters not reported", {"write_short": None, "read": None}),
    ],
)
def test_nothing_is_claimed(what: str, spec: Mapping[str, object]) -> None:
    assert found({"t": 0, "read": 0, "write_short": 1_000, **spec}) == [None], what
    assert found({"t": 0, "read": 0, "write_short": 1_000}) != [None]


def test_nothing_is_claimed_where_too_many_may_have_read() -> None:
    crowd = [
        {"t": 1, "id": f"c{n}", "lane": f"c{n}", "parent": None, "read": 10, "write_short": 0}
        for n in range(MOST_READERS)
    ]
    one = {"t": 0, "read": 0, "write_short": 1_000}
    assert unread(one, *crowd)[0] == 990
    assert unread(one, *crowd, {**crowd[0], "id": "c", "lane": "c"})[0] == 0


COUNTS = st.integers(0, 3_000)
STEPS = st.one_of(st.none(), st.integers(0, 900))


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, object]]:
    """Rows of up to three lanes in order of their start, each grown from an earlier row of its lane or from none."""
    specs: list[dict[str, object]] = []
    now = 0
    for number in range(draw(st.integers(1, 9))):
        step = draw(STEPS)
        now += step or 0
        lane = draw(st.sampled_from("abc"))
        before = [spec["id"] for spec in specs if spec["lane"] == lane]
        specs.append(
            {
                "id": f"q{number}",
                "lane": lane,
                "parent": draw(st.sampled_from([None, *before])),
                "t": None if step is None else now,
                "read": draw(COUNTS),
                "write_short": draw(COUNTS),
                "write_long": draw(COUNTS),
                "model": draw(st.sampled_from(["claude-opus-4-8", "claude-haiku-4-5"])),
            }
        )
    return specs


def rows_of(specs: list[dict[str, object]]) -> list[Row]:
    """Rows without verdicts: nothing here depends on them."""
    return [
        Row(request=one, usage=one.usage or Usage(), start=one.start, first_token=None, end=one.end)
        for one in rows(*specs).requests
    ]


@settings(max_examples=200)
@given(tables())
def test_never_more_than_was_written_nor_than_its_surcharge(specs: list[dict[str, object]]) -> None:
    made = rows_of(specs)
    for row, one in zip(made, never_read(made), strict=True):
        if one is not None:
            assert 0 < one.unread <= one.written == row.usage.write
            rate = 5 if row.request.model == "claude-opus-4-8" else 1
            whole = (row.usage.write_short or 0) * 250_000 * rate + (row.usage.write_long or 0) * 1_000_000 * rate
            assert 0 < one.surcharge <= whole


@settings(max_examples=200)
@given(tables(), st.data())
def test_a_further_row_that_reads_never_adds_to_what_was_in_vain(
    specs: list[dict[str, object]], data: st.DataObject
) -> None:
    before = never_read(rows_of(specs))
    last = max((int(str(spec["t"])) for spec in specs if spec["t"] is not None), default=0)
    reader = {
        **specs[0],
        "id": "reader",
        "lane": data.draw(st.sampled_from("abcd")),
        "parent": data.draw(st.sampled_from([None, *(spec["id"] for spec in specs)])),
        "t": last + data.draw(st.integers(0, 400)),
        "read": data.draw(st.integers(0, 9_000)),
    }
    after = never_read(rows_of([*specs, reader]))
    for was, now in zip(before, after, strict=False):
        assert (now.unread if now else 0) <= (was.unread if was else 0)


@settings(max_examples=200)
@given(tables())
def test_a_write_that_its_child_reads_to_the_end_is_not_named(specs: list[dict[str, object]]) -> None:
    made = rows_of(specs)
    by_id = {row.request.id: row for row in made}
    read_up = set()
    for row in made:
        parent = by_id.get(row.request.parent or "")
        if parent is None or parent.request.model != row.request.model:
            continue
        if (row.usage.read or 0) >= (parent.usage.read or 0) + (parent.usage.write or 0):
            read_up.add(parent.request.id)
    assert read_up.isdisjoint(one.request for one in never_read(made) if one is not None)
