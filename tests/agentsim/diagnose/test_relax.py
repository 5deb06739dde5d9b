"""Verdicts by bodies: the smallest set of relaxed rules, for the worked example and for public reports by number."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Event, Request, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies
from agentsim.rules.providers import rules_for
from agentsim.traces.samples.make_atlas import atlas_session
from tests.agentsim.prompts import MODEL, block, prompt, request, session, texts

HEAD = [block("read", 1_000, "tools"), block("be brief", 1_000, "system", role=None)]
AUTO, ANY = '{"type":"auto"}', '{"type":"any"}'


def chat(rounds: int, tokens: int = 500, start: int = 0) -> list[Block]:
    """A head of 2,000 tokens and rounds of one block."""
    return HEAD + texts(rounds, tokens)[start:]


def talk(rounds: int) -> Prompt:
    """That prompt, with breakpoints after the system and on the last block."""
    blocks = chat(rounds)
    return prompt(blocks, 1, len(blocks) - 1)


def judge(*requests: Request, model: ModeledProvider | None = None) -> tuple[Verdict, ...]:
    return judge_bodies(session(requests), model)


def reported(read: int, written: int, fresh: int = 0) -> Usage:
    return Usage(fresh=fresh, write_short=written, write_long=0, read=read, output=10)


class TestTheWorkedExample:
    """Fourteen requests, five causes."""

    @pytest.fixture
    def verdicts(self) -> tuple[Verdict, ...]:
        return judge_bodies(atlas_session())

    def test_five_causes_proved_by_bodies(self, verdicts):
        assert [verdict.kind for verdict in verdicts] == (
            ["first", "hit", "hit", "hit", "miss", "hit", "miss", "hit", "miss", "recovered", "miss", "hit"]
            + ["miss"] * 2
        )
        lost = {verdict.request: (verdict.cause, verdict.lost) for verdict in verdicts if verdict.kind == "miss"}
        assert lost == {
            "r05": ("AS101", 32_800),
            "r07": ("AS201", 36_150),
            "r09": ("AS401", 39_150 - 7_350),
            "r11": ("AS301", 42_150 - 7_350),
            "r13": ("AS502", 82_170 - 51_870),
            "r14": ("AS502", 82_170 - 51_870),
        }
        assert all(verdict.evidence == "proved" for verdict in verdicts if verdict.kind == "miss")

    def test_row_5_names_the_tool_and_its_place(self, verdicts):
        place = verdicts[4].place
        assert place is not None
        assert (place.section, place.name, place.change, place.block) == ("tools", "db_query", "inserted", 3)

    def test_row_7_tells_both_gaps(self, verdicts):
        (sentence,) = verdicts[6].established
        assert "335 s" in sentence  # 07:55 - 02:20
        assert "185 s" in sentence  # 07:55 - 04:50

    def test_row_9_names_the_setting_and_both_values(self, verdicts):
        (sentence,) = verdicts[8].established
        assert "tool_choice" in sentence
        assert "auto" in sentence
        assert "submit_patch" in sentence

    def test_row_10_reads_an_older_entry_and_is_no_loss_of_its_own(self, verdicts):
        row = verdicts[9]
        assert (row.kind, row.cause, row.predicted, row.lost) == ("recovered", "AS401", 39_150, 1_500)

    def test_row_11_tells_the_position(self, verdicts):
        assert "position 26" in verdicts[10].established[0]
        # One breakpoint on the old end saves 34,800 x (1.25 - 0.1).
        assert verdicts[10].lost_equivalents == 40_020 * 10**6

    def test_rows_13_and_14_need_two_things_and_row_12_is_not_at_fault(self, verdicts):
        assert verdicts[11].cause is None
        for row in verdicts[12:]:
            assert (row.cause, row.alternatives) == ("AS502", ("AS501",))
            assert row.fix is not None
        # Both together: 2 x 30,300 x 1.15
        assert sum(row.lost_equivalents or 0 for row in verdicts[12:]) == 69_690 * 10**6

    def test_every_read_is_predicted_to_the_token(self, verdicts):
        assert [verdict.prediction for verdict in verdicts] == ["none"] + ["exact"] * 13

    def test_without_reported_usage_the_modeled_one_gives_the_same_verdicts(self, verdicts):
        full = atlas_session()
        bare = msgspec.structs.replace(
            full, requests=tuple(msgspec.structs.replace(one, usage=None) for one in full.requests)
        )
        other = judge_bodies(bare)
        assert [(v.kind, v.cause, v.lost, v.lost_cost) for v in other] == [
            (v.kind, v.cause, v.lost, v.lost_cost) for v in verdicts
        ]
        assert {verdict.prediction for verdict in other} == {"none"}


def test_c23_a_clock_in_the_system_text_is_volatile_text_there():
    def body(second: int, rounds: int) -> Prompt:
        clock = f"You are X. Now: 2026-03-06 10:15:{second:02}"
        blocks = [HEAD[0], block(clock, 11_000, "system", role=None, text=clock, message=0), *texts(rounds, 500)]
        return prompt(blocks, 1, len(blocks) - 1)

    verdicts = judge(*(request(str(n), 20 * n, body(n, n + 1)) for n in range(3)))
    for verdict in verdicts[1:]:
        assert (verdict.kind, verdict.cause) == ("miss", "AS111")
        assert verdict.place is not None
        assert (verdict.place.section, verdict.place.change) == ("system", "volatile")


def test_c26_an_effort_not_used_before_misses_and_an_old_one_is_found_again():
    efforts = ["low", "low", "medium", "medium", "high", "low"]
    verdicts = judge(
        *(request(str(n), 20 * n, talk(n + 1), settings={"effort": f'"{e}"'}) for n, e in enumerate(efforts))
    )
    assert [(v.kind, v.cause) for v in verdicts] == [
        ("first", None),
        ("hit", None),
        ("miss", "AS403"),
        ("hit", None),
        ("miss", "AS403"),
        # It reads what row 2 left (3,000), less than row 5 should have read: the effort it left is lost to it.
        ("miss", "AS403"),
    ]
    assert verdicts[5].predicted == 3_000


def test_c27_one_gap_of_seven_minutes():
    # t = 0 read 56,000, wrote 2,058; t = 430 wrote all of it again.
    body = prompt([block("all", 56_000, "system", role=None), block("more", 2_058)], 0, 1)
    rows = judge(
        request(
            "warm", -60, body.replace_after(1, ()).with_breakpoints(body.breakpoints[:1]), usage=reported(0, 56_000)
        ),
        request("a", 0, body, usage=reported(56_000, 2_058)),
        request("b", 430, body, usage=reported(0, 58_058)),
    )
    verdict = rows[2]
    assert (verdict.kind, verdict.cause, verdict.evidence, verdict.lost) == ("miss", "AS201", "proved", 58_058)
    assert verdict.prediction == "exact"
    assert "430 s" in verdict.established[0]
    # Opus 4.8: written at $6.25 and not read at $0.50 a million: 58,058 x $5.75 = $0.33
    assert verdict.lost_cost == 58_058 * 5_750_000


def test_an_hour_is_named_as_an_hour_and_a_dropped_tier_as_such():
    long = [
        talk(n).with_breakpoints([msgspec.structs.replace(m, ttl=3600) for m in talk(n).breakpoints]) for n in (1, 2)
    ]
    assert judge(request("a", 0, long[0]), request("b", 3_601, long[1]))[1].cause == "AS202"
    dropped = judge(request("a", 0, long[0]), request("b", 60, talk(2)), request("c", 60 + 301, talk(3)))
    assert dropped[2].cause == "AS203"


def test_the_lifetime_that_ended_is_that_of_the_last_breakpoint() -> None:
    def body(rounds: int) -> Prompt:
        blocks = chat(rounds)
        return prompt(blocks, (1, 3_600), (len(blocks) - 1, 300))

    verdict = judge(request("a", 0, body(1)), request("b", 400, body(2)))[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS201", 500)


def test_within_the_grace_of_a_profile_neither_outcome_contradicts():
    logs = rules_for("anthropic", MODEL, None, "session_log")
    for after_end, read in ((320, 2_500), (320, 0), (330, 2_500), (331, 0)):
        usage = reported(read, 3_000 - read)
        rows = judge(
            request("a", 0, talk(1), lasts=10, usage=reported(0, 2_500)),
            request("b", 10 + after_end, talk(2), usage=usage),
            model=ModeledProvider(logs),
        )
        assert rows[1].prediction == "exact"
        assert rows[1].kind == ("hit" if read else "miss")


def test_an_entry_that_outlives_the_documented_lifetime_but_not_the_observed_one_is_a_hit_of_that_class():
    rows = [
        judge(
            request("a", 0, talk(1), lasts=lasts, usage=reported(0, 2_500)),
            request("b", 400, talk(2), usage=reported(2_500, 500)),
        )[1]
        for lasts in (200, 100, 99, 20)  # from 200 s to 380 s after the response ended
    ]
    assert [(v.kind, v.prediction, v.lost) for v in rows] == [("hit", "class", 0)] * 2 + [("hit", "wrong", 0)] * 2


@pytest.mark.parametrize(("gap", "kind"), [(300, "hit"), (301, "miss")])
def test_an_entry_lives_to_the_last_second_of_its_lifetime(gap: int, kind: str) -> None:
    verdict = judge(request("a", 0, talk(1)), request("b", gap, talk(2)))[1]
    assert (verdict.kind, verdict.cause) == (kind, "AS201" if kind == "miss" else None)


def fan_out(width: int) -> tuple[Prompt, Prompt]:
    before = [*HEAD, block("task", 500)]
    calls = [block(f"call{n}", 50, kind="tool_use", role="assistant") for n in range(width)]
    results = [block(f"result{n}", 200, kind="tool_result") for n in range(width)]
    after = [*before, *calls, *results]
    return prompt(before, 1, 2), prompt(after, 1, len(after) - 1)


def test_c29_a_wide_fan_out_misses_by_block_and_not_by_run():
    before, after = fan_out(12)
    by_block = judge(request("a", 0, before), request("b", 20, after))[1]
    assert (by_block.kind, by_block.cause, by_block.lost) == ("miss", "AS301", 500)
    assert "position 25" in by_block.established[0]  # 12 calls and 12 results after it
    runs = ModeledProvider(rules_for("anthropic", MODEL, None).with_(lookback_counts="run"))
    assert judge(request("a", 0, before), request("b", 20, after), model=runs)[1].kind == "hit"


@pytest.mark.parametrize(
    ("model", "kind", "cause"),
    [
        ("claude-sonnet-4-5", "hit", None),
        ("claude-opus-4-5", "uncached", "AS303"),
        ("claude-haiku-4-5", "uncached", "AS303"),
    ],
)
def test_c30_below_the_minimum_is_said_of_the_model(model, kind, cause):
    verdict = judge(request("a", 0, talk(1), model=model), request("b", 20, talk(1), model=model))[1]
    assert (verdict.kind, verdict.cause) == (kind, cause)
    if cause:
        assert "4,096" in verdict.established[0]
        assert "2,500" in verdict.established[0]


def test_c31_five_breakpoints_are_rejected_and_the_message_that_has_several_is_named():
    results = [block(f"r{n}", 500, kind="tool_result", message=7) for n in range(3)]
    body = prompt([*HEAD, block("q", 500, message=0), *results], 1, 2, 3, 4, 5)
    (verdict,) = judge(request("a", 0, body))
    assert (verdict.kind, verdict.cause) == ("uncached", "AS304")
    assert "5 breakpoints, at most 4" in verdict.established[0]
    assert verdict.place is not None
    assert verdict.place.address is not None
    assert verdict.place.address.startswith("messages[7]")


def test_c32_siblings_whose_breakpoint_stands_before_the_shared_part_ends():
    shared = [block("system", 6_076, "system", role=None), block("rules", 5_270, message=0)]
    agents = [
        request(str(n), 20 * n, prompt([*shared, block(f"task {n}", 33, message=0)], 0, 2), lane=f"agent {n}")
        for n in range(3)
    ]
    verdicts = judge(*agents)
    assert verdicts[0].kind == "first"
    for verdict in verdicts[1:]:
        assert (verdict.kind, verdict.cause, verdict.alternatives) == ("miss", "AS502", ())
        assert verdict.lost == 5_270
        assert verdict.fix is not None
        assert "messages[0]" in verdict.fix


@pytest.mark.parametrize(("tokens", "kind"), [(1_023, "first"), (1_024, "miss")])
def test_siblings_that_share_little_beyond_their_breakpoint_lose_nothing(tokens: int, kind: str) -> None:
    shared = [block("system", 6_076, "system", role=None), block("rules", tokens, message=0)]
    bodies = [prompt([*shared, block(f"task {n}", 33, message=0)], 0, 2) for n in range(2)]
    found = judge(*(request(str(n), 20 * n, body, lane=f"agent {n}") for n, body in enumerate(bodies)))[1]
    assert (found.kind, found.lost) == (kind, tokens if kind == "miss" else 0)


@pytest.mark.parametrize(
    ("tool", "system", "read", "kind"),
    [
        (1_000, 5_000, 1_100, "miss"),
        (1_000, 5_000, 1_101, "first"),
        (6_000, 64, 6_000, "miss"),  # the least that counts as a loss
        (6_000, 64, 6_001, "first"),
        (6_000, 63, 6_000, "first"),
    ],
)
def test_what_a_conversation_read_of_a_head_with_a_clock(tool: int, system: int, read: int, kind: str) -> None:
    """A tool stands in front of the clock; the size of a part may be off by a tenth."""

    def body(second: int) -> Prompt:
        clock = f"You are X. Now: 2026-03-06 10:15:{second:02}"
        head = [block("read", tool, "tools"), block(clock, system, "system", role=None, text=clock)]
        return prompt([*head, block(f"q{second}", 50)], 1, 2)

    size = tool + system + 50
    found = judge(
        request("a", 0, body(1), usage=reported(0, size)),
        request("b", 20, body(2), lane="other", usage=reported(read, size - read)),
    )[1]
    assert (found.kind, found.lost) == (kind, size - 50 - read if kind == "miss" else 0)


@pytest.mark.parametrize(
    ("read", "known"), [(1_599, 2_000), (1_600, 1_600), (2_400, 2_400), (2_666, 2_666), (2_667, 2_000)]
)
def test_the_size_of_a_part_is_learnt_where_a_read_can_be_of_no_other(read: int, known: int) -> None:
    """Its two blocks have 2,000 tokens by an estimate, which a quarter of the read may be off."""

    def ask(name: str) -> Prompt:
        head = [msgspec.structs.replace(one, origin="estimated") for one in HEAD]
        return prompt([*head, block(name, 9_000)], 1, 2)

    found = judge(
        request("a", 0, ask("a"), usage=reported(0, 11_000)),
        request("b", 20, ask("b"), usage=reported(read, 11_000 - read)),
        request("c", 40, ask("c"), usage=reported(0, 11_000)),
    )
    assert (found[1].predicted, found[2].predicted) == (2_000, known)


def c33(day: datetime) -> Verdict:
    body = prompt([block("s", 1_215, "system", role=None)], 0)
    start = int(day.timestamp())
    one = request("a", 0, body, model="claude-sonnet-4-5", day=start, usage=reported(0, 1_215), lasts=1)
    two = request("b", 2, body, model="claude-sonnet-4-5", day=start, usage=reported(0, 1_215))
    return judge(one, two)[1]


def test_c33_a_miss_right_after_the_first_answer_by_date():
    spring = c33(datetime(2026, 4, 26, tzinfo=UTC))
    assert (spring.kind, spring.cause, spring.evidence, spring.lost) == ("miss", "AS501", "likely", 1_215)
    autumn = c33(datetime(2026, 9, 1, tzinfo=UTC))
    assert (autumn.kind, autumn.cause, autumn.evidence) == ("miss", "AS902", "unexplained")


def resumed(shape: str, *markers: int, tail: int = 1) -> Prompt:
    notes = block("notes", 6_000, shape="string" if shape == "string" else "list", message=1)
    blocks = [*HEAD, block("hi", 10, message=0), notes, *texts(tail, 50)]
    return prompt(blocks, 1, *markers, len(blocks) - 1)


def test_c36_the_shape_is_the_cause_where_the_model_tells_it_apart():
    first, second = resumed("list", 3), resumed("string")
    fable = judge(request("a", 0, first, model="claude-fable-5-1"), request("b", 20, second, model="claude-fable-5-1"))[
        1
    ]
    assert (fable.kind, fable.cause) == ("miss", "AS127")
    assert fable.evidence == "implied"  # the source of that rule is weak, and the verdict says so
    assert fable.place is not None
    assert (fable.place.change, fable.place.address) == ("shape", "messages[1].content[0]")
    opus = judge(request("a", 0, first, model="claude-opus-5"), request("b", 20, second, model="claude-opus-5"))[1]
    assert opus.kind == "hit"


def test_c36_the_lost_breakpoint_is_the_cause_where_the_shape_is_not():
    # The notes had a breakpoint of their own. Without it the last one is too far away to find their entry.
    first, second = resumed("list", 3), resumed("string", tail=25)
    opus = judge(request("a", 0, first, model="claude-opus-5"), request("b", 20, second, model="claude-opus-5"))[1]
    assert (opus.kind, opus.cause) == ("miss", "AS301")
    assert opus.lost == 6_060  # the notes, and what stood around them
    kept = resumed("string", 3, tail=25)
    same = judge(request("a", 0, first, model="claude-opus-5"), request("b", 20, kept, model="claude-opus-5"))[1]
    assert same.lost == 50  # only the block behind the notes


def test_c44b_a_ping_in_between_explains_the_hit():
    body = prompt([block("s", 5_860, "system", role=None)], 0)
    rows = {0: reported(0, 5_860), 240: reported(5_860, 0), 482: reported(5_860, 0)}
    pinged = judge(*(request(str(at), at, body, usage=usage) for at, usage in rows.items()))
    assert [(v.kind, v.prediction) for v in pinged] == [("first", "none"), ("hit", "exact"), ("hit", "exact")]
    silent = judge(request("0", 0, body, usage=rows[0]), request("482", 482, body, usage=reported(0, 5_860)))
    assert (silent[1].cause, silent[1].prediction) == ("AS201", "exact")


def test_caching_never_switched_on():
    verdicts = judge(request("a", 0, prompt(chat(1))), request("b", 20, prompt(chat(2))))
    assert [(v.kind, v.cause, v.lost) for v in verdicts] == [("uncached", "AS305", 0)] * 2


@pytest.mark.parametrize(
    ("size", "first", "second", "found"),
    [
        (2_048, (0, 0), (0, 0), [("uncached", "AS308", "implied"), ("uncached", "AS308", "implied")]),
        (2_047, (0, 0), (0, 0), [("uncached", "AS303", "likely"), ("uncached", "AS303", "likely")]),
        (2_048, (0, None), (0, None), [("first", None, None), ("uncached", "AS308", "likely")]),
        (2_048, (0, 2_048), (0, 0), [("first", None, None), ("miss", "AS902", "unexplained")]),  # heeded before
        (2_048, (0, 2_048), (2_048, 0), [("first", None, None), ("hit", None, None)]),
    ],
)
def test_breakpoints_that_nobody_heeded(size, first, second, found):
    body = prompt([block("s", size, "system", role=None)], 0)
    usages = [Usage(fresh=size, read=read, write_short=written, output=3) for read, written in (first, second)]
    verdicts = judge(*(request(f"r{at}", 20 * at, body, usage=usage) for at, usage in enumerate(usages)))
    assert [(v.kind, v.cause, v.evidence) for v in verdicts] == found


def test_counters_that_were_not_reported():
    usage = Usage(fresh=2_500, output=3)
    assert judge(request("a", 0, talk(1), usage=usage))[0].cause == "AS910"


def test_a_breakpoint_on_what_changes_every_time():
    def ask(number: int) -> Prompt:
        return prompt([*HEAD, block("document", 5_000), block(f"question {number}", 40)], 3)

    verdict = judge(request("a", 0, ask(1)), request("b", 20, ask(2)))[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS306", 7_000)


def test_a_rewind_is_no_miss():
    branch = [*chat(2), block("other way", 500)]
    verdicts = judge(
        request("a", 0, talk(2)),
        request("b", 20, talk(3)),
        request("c", 40, talk(4)),
        request("back", 60, talk(2)),
        request("d", 80, talk(4)),
        request("branch", 100, prompt(branch, 1, 4)),
    )
    assert [v.kind for v in verdicts[3:]] == ["shorter", "hit", "shorter"]


def test_a_compaction_that_the_log_marks_is_no_miss():
    one, two = request("a", 0, talk(9)), request("b", 20, prompt([*HEAD, block("summary", 700)], 1, 2))
    marked = msgspec.structs.replace(
        session([one, two]), events=(Event(kind="compaction", time=None, lane="main", before="b"),)
    )
    verdict = judge_bodies(marked)[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("compaction", "AS140", 0)


def test_a_loss_that_no_rule_explains_is_called_unexplained():
    whole = judge(
        request("a", 0, talk(1), usage=reported(0, 2_500)), request("b", 20, talk(2), usage=reported(0, 3_000))
    )[1]
    assert (whole.cause, whole.evidence, whole.prediction) == ("AS902", "unexplained", "wrong")
    head = judge(
        request("a", 0, talk(1), usage=reported(0, 2_500)), request("b", 20, talk(2), usage=reported(2_000, 1_000))
    )[1]
    assert (head.cause, head.lost) == ("AS901", 500)


def test_more_than_anything_logged_could_have_written_proves_an_unlogged_request():
    verdict = judge(
        request("a", 0, talk(1), usage=reported(0, 2_500)), request("b", 20, talk(9), usage=reported(3_700, 2_800))
    )[1]
    assert (verdict.kind, verdict.unlogged) == ("extended", 1_200)
    # The size of a part may be off by a hundredth.
    whole = [*HEAD, block("task", 8_000)]
    first = request("a", 0, prompt(whole, 1, 2), usage=reported(0, 10_000))
    longer = prompt([*whole, *texts(9, 500)], 1, 11)
    near = [judge(first, request("b", 20, longer, usage=reported(read, 14_500 - read)))[1] for read in (10_100, 10_101)]
    assert [(one.kind, one.unlogged) for one in near] == [("hit", None), ("extended", 101)]


def test_two_settings_changed_at_once_are_both_named():
    before, after = {"tool_choice": AUTO}, {"tool_choice": ANY, "thinking": '{"type":"adaptive"}'}
    verdict = judge(request("a", 0, talk(1), settings=before), request("b", 20, talk(2), settings=after))[1]
    assert {verdict.cause, *verdict.alternatives} == {"AS401", "AS402"}


def test_another_model_in_the_same_lane():
    verdict = judge(request("a", 0, talk(1)), request("b", 20, talk(2), model="claude-sonnet-4-5"))[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS404")


def test_a_change_and_an_expiry_at_once_names_both():
    edited = prompt([HEAD[0], block("be long", 1_000, "system", role=None), *texts(2, 500)], 1, 3)
    verdict = judge(request("a", 0, talk(1)), request("b", 400, edited))[1]
    assert (verdict.cause, verdict.alternatives) == ("AS110", ("AS201",))


def test_requests_that_cannot_be_judged_are_told_apart_and_nothing_is_raised():
    strange = msgspec.structs.replace(request("a", 0, talk(1), model="gpt-9"), provider="acme")
    verdicts = judge(strange, request("b", 1, None), request("c", 2, prompt([])))
    assert [v.kind for v in verdicts] == ["unreported", "unreported", "uncached"]


def test_verdicts_stand_in_the_order_of_the_session():
    verdicts = judge(request("late", 50, talk(2)), request("early", 0, talk(1)))
    assert [(v.request, v.kind) for v in verdicts] == [("late", "hit"), ("early", "first")]


@pytest.mark.parametrize(
    ("system", "also"),
    [("be brief", ()), ("be long", ("AS110",))],
)
def test_tools_and_system_that_changed_are_both_named(system, also):
    def ask(*names: str, text: str = "be brief") -> Prompt:
        tools = [block(name, 1_000, "tools") for name in names]
        return prompt([*tools, block(text, 1_000, "system", role=None), *texts(2, 500)], 2, 4)

    verdict = judge(request("a", 0, ask("read", "write")), request("b", 20, ask("write", "read", text=system)))[1]
    assert (verdict.cause, verdict.alternatives) == ("AS103", also)
    assert ("restores nothing behind the other" in " ".join(verdict.established)) is bool(also)
