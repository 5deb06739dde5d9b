"""What the modeled provider reads, writes and bills, from the provider's documented cases and from public reports."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentsim.cache import CacheBackend, Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules, rules_for
from tests.agentsim.prompts import MODEL, block, prompt, request, texts

HEAD = [block("read", 1_000, "tools"), block("be brief", 1_000, "system", role=None)]
"""Tools and system: 2,000 tokens."""


def rules(model: str = MODEL) -> ProviderRules:
    return rules_for("anthropic", model, None)


def serve(backend: CacheBackend, *requests: Request) -> list[Served]:
    found = []
    for one in requests:
        assert one.start is not None
        found.append(backend.serve(one, one.start))
    return found


def numbers(served: Served) -> tuple[int | None, int | None, int | None]:
    """Read, written, fresh."""
    return served.usage.read, served.usage.write, served.usage.fresh


def conversation(rounds: int, *, last_only: bool = False) -> Prompt:
    """A head, and rounds of one block of 500 tokens; breakpoints after the system and on the last block."""
    blocks = HEAD + texts(rounds, 500)
    return prompt(blocks, *(() if last_only else (1,)), len(blocks) - 1)


def test_what_follows_the_last_breakpoint_is_ordinary_input():
    blocks = [*HEAD, block("document", 3_000), block("question", 40)]
    first, again = serve(
        ModeledProvider(),
        request("a", 0, prompt(blocks, 2)),
        request("b", 20, prompt(blocks, 2), usage=Usage(output=7)),
    )
    assert numbers(first) == (0, 5_000, 40)
    assert numbers(again) == (5_000, 0, 40)
    assert again.usage.output == 7
    assert (again.hit, again.hit_owner, first.written, again.written) == (3, "a", (3,), ())


@pytest.mark.parametrize(("gap", "read"), [(300, 2_500), (301, 0)])
def test_c27_a_lifetime_of_five_minutes_counts_from_the_start_of_the_request(gap, read):
    # The response takes 200 s: counted from its end, both would be read.
    _, second = serve(
        ModeledProvider(), request("a", 0, conversation(1), lasts=200), request("b", gap, conversation(1))
    )
    assert second.usage.read == read


@pytest.mark.parametrize(("gap", "read"), [(301, 2_500), (500, 2_500), (501, 0)])
def test_the_other_reading_counts_from_the_end_of_the_response(gap, read):
    backend = ModeledProvider(rules().with_(ttl_clock="response_end"))
    _, second = serve(backend, request("a", 0, conversation(1), lasts=200), request("b", gap, conversation(1)))
    assert second.usage.read == read


def test_c44b_a_request_in_between_keeps_the_entry_alive():
    # Written at 0, pinged at 240, read at 482: 482 - 240 = 242 s. Without the ping 482 s are too long.
    body = prompt([*HEAD, block("long", 3_860)], 2)
    assert [
        served.usage.read for served in serve(ModeledProvider(), *(request(str(t), t, body) for t in (0, 240, 482)))
    ] == [
        0,
        5_860,
        5_860,
    ]
    assert [
        served.usage.read for served in serve(ModeledProvider(), *(request(str(t), t, body) for t in (0, 482)))
    ] == [0, 0]


def test_reading_the_longest_entry_keeps_those_in_front_of_it_alive():
    # Every 200 s a round is added; after 800 s somebody goes back to the very first prompt.
    growing = [request(str(n), 200 * n, conversation(n + 1, last_only=True)) for n in range(5)]
    back = request("back", 900, conversation(1, last_only=True))
    assert serve(ModeledProvider(), *growing, back)[-1].usage.read == 2_500
    alone = ModeledProvider(rules().with_(refresh="hit"))
    assert serve(alone, *growing, back)[-1].usage.read == 0


@pytest.mark.parametrize(
    ("markers", "a", "expected"),
    [
        # (position, lifetime) of the breakpoints; blocks of 1,000; a = tokens read; (1 h, 5 m, fresh) of 8,000
        (((2, 3600), (5, 300)), 0, (3_000, 3_000, 2_000)),  # A 0, B 3,000, C 6,000
        (((2, 3600), (5, 300)), 2_000, (1_000, 3_000, 2_000)),  # A 2,000
        (((2, 3600), (5, 300)), 4_000, (0, 2_000, 2_000)),  # the last 1 h breakpoint lies before A: B = A
        (((5, 300),), 2_000, (0, 4_000, 2_000)),
        (((5, 3600),), 2_000, (4_000, 0, 2_000)),
        (((1, 3600), (3, 3600), (7, 300)), 0, (4_000, 4_000, 0)),
    ],
)
def test_mixed_lifetimes_are_billed_up_to_a_b_and_c(markers, a, expected):
    blocks = texts(8, 1_000)
    backend = ModeledProvider()
    if a:
        serve(backend, request("warm", 0, prompt(blocks[: a // 1_000], a // 1_000 - 1)))
    (served,) = serve(backend, request("x", 60, prompt(blocks, *markers)))
    usage = served.usage
    assert usage.read == a
    assert (usage.write_long, usage.write_short, usage.fresh) == expected


def test_an_entry_of_an_hour_is_there_after_fifty_minutes():
    body = prompt([*HEAD, block("q", 500)], (1, 3600), (2, 300))
    _, second = serve(ModeledProvider(), request("a", 0, body), request("b", 3_000, body))
    assert numbers(second) == (2_000, 500, 0)


def test_nothing_can_be_read_before_the_first_token_of_the_writer():
    body = conversation(2)
    for at, read in ((3, 0), (4, 3_000)):
        _, second = serve(ModeledProvider(), request("a", 0, body, first_token=4), request("b", at, body))
        assert second.usage.read == read


def test_where_the_first_token_is_not_known_the_rule_assumes_one_but_none_after_the_end():
    body = conversation(2)
    for lasts, at, read in ((10, 1, 0), (10, 2, 3_000), (1, 1, 3_000)):
        _, second = serve(
            ModeledProvider(), request("a", 0, body, lasts=lasts, first_token=None), request("b", at, body)
        )
        assert second.usage.read == read


@pytest.mark.parametrize(
    ("model", "written"),
    [("claude-sonnet-4-5", 2_500), ("claude-opus-4-5", 0), ("claude-haiku-4-5", 0), ("claude-opus-4-7", 2_500)],
)
def test_c30_the_same_prefix_is_kept_by_one_model_and_not_by_another(model, written):
    body = conversation(1)
    first, second = serve(ModeledProvider(), request("a", 0, body, model=model), request("b", 20, body, model=model))
    assert (first.usage.write, second.usage.read) == (written, written)
    assert first.usage.fresh == 2_500 - written


def test_a_breakpoint_below_the_minimum_neither_writes_nor_reads_but_a_longer_one_does():
    body = prompt([block("s", 600, "system"), *texts(4, 300)], 0, 2)  # prefixes of 600 and 1,200
    first, second = serve(ModeledProvider(), request("a", 0, body), request("b", 20, body))
    assert first.written == (3,)
    assert numbers(second) == (1_200, 0, 600)


def test_c31_a_fifth_breakpoint_is_rejected_and_changes_nothing():
    blocks = HEAD + texts(4, 500)
    five = request("five", 0, prompt(blocks, 1, 2, 3, 4, 5))
    four = request("four", 20, prompt(blocks, 1, 3, 4, 5))
    rejected, accepted = serve(ModeledProvider(), five, four)
    assert rejected.rejected is not None
    assert "5 breakpoints" in rejected.rejected
    assert (rejected.usage.total_input, rejected.usage.output) == (0, 0)
    assert (accepted.rejected, accepted.usage.read, accepted.usage.write) == (None, 0, 4_000)
    kept = ModeledProvider(rules().with_(on_excess="keep_latest"))
    assert serve(kept, five)[0].written == (3, 4, 5, 6)


def test_a_long_lifetime_behind_a_short_one_is_rejected():
    (served,) = serve(ModeledProvider(), request("a", 0, prompt(HEAD + texts(1, 500), (1, 300), (2, 3600))))
    assert served.rejected is not None
    assert "long lifetime" in served.rejected


def fan_out(width: int) -> tuple[Prompt, Prompt]:
    """A prompt, and the one after a turn with so many parallel calls and their results."""
    before = [*HEAD, block("task", 500)]
    calls = [block(f"call{n}", 50, kind="tool_use", role="assistant") for n in range(width)]
    results = [block(f"result{n}", 200, kind="tool_result") for n in range(width)]
    after = [*before, *calls, *results]
    return prompt(before, 1, 2), prompt(after, 1, len(after) - 1)


@pytest.mark.parametrize(("width", "by_block", "by_run"), [(9, 2_500, 2_500), (10, 2_000, 2_500), (12, 2_000, 2_500)])
def test_c29_a_wide_fan_out_by_both_ways_of_counting_positions(width, by_block, by_run):
    # By block 2 x 12 = 24 positions lie between the ends; by run 2. The system's own breakpoint is read either way.
    before, after = fan_out(width)
    for counts, read in (("block", by_block), ("run", by_run)):
        backend = ModeledProvider(rules().with_(lookback_counts=counts))
        _, second = serve(backend, request("a", 0, before), request("b", 20, after))
        assert (counts, second.usage.read) == (counts, read)


def test_c29_a_second_breakpoint_on_the_old_end_mends_it():
    before, after = fan_out(12)
    both = after.with_breakpoints([*before.breakpoints, *after.breakpoints[1:]])
    assert len(both.breakpoints) == 3
    assert serve(ModeledProvider(), request("a", 0, before), request("b", 20, both))[1].usage.read == 2_500


def test_c26_each_effort_has_its_own_entries_and_an_old_one_is_found_again():
    efforts = ["low", "low", "medium", "medium", "high", "low"]
    requests = [
        request(str(n), 20 * n, conversation(n + 1), settings={"effort": f'"{effort}"'})
        for n, effort in enumerate(efforts)
    ]
    reads = [served.usage.read for served in serve(ModeledProvider(), *requests)]
    # Rows end at 2,500 + 500 n. Tools and system (2,000) do not carry the effort with this model.
    # Row 6 finds row 2's entry, which ends at 3,000: four blocks back.
    assert reads == [0, 2_500, 2_000, 3_500, 2_000, 3_000]


def test_the_default_of_a_setting_equals_leaving_it_out():
    high = request("a", 0, conversation(1), settings={"effort": '"high"', "tool_choice": '{"type":"auto"}'})
    absent = request("b", 20, conversation(1))
    assert serve(ModeledProvider(), high, absent)[1].usage.read == 2_500


def test_a_forced_tool_leaves_tools_and_system_readable():
    forced = request("b", 20, conversation(2), settings={"tool_choice": '{"type":"any"}'})
    back = request("c", 40, conversation(3))
    reads = [served.usage.read for served in serve(ModeledProvider(), request("a", 0, conversation(1)), forced, back)]
    assert reads == [0, 2_000, 2_500]


def test_citations_leave_only_the_tools_readable():
    body = prompt([*HEAD[:1], block("more", 1_000, "tools"), *HEAD[1:], *texts(1, 500)], 1, 2, 3)
    cited = request("b", 20, body, settings={"citations": "true"})
    assert serve(ModeledProvider(), request("a", 0, body), cited)[1].usage.read == 2_000


def test_each_model_and_each_scope_has_a_cache_of_its_own():
    first = request("a", 0, conversation(1))
    other = request("b", 20, conversation(1), model="claude-sonnet-4-5")
    backend = ModeledProvider()
    assert [served.usage.read for served in serve(backend, first, other)] == [0, 0]


def test_c32_a_breakpoint_far_in_front_of_what_varies():
    # Agents share 11,374 - 33 tokens; the only common breakpoint stands at 6,076. Each further agent writes 5,298.
    shared = [block("system", 6_076, "system", role=None), block("rules", 5_265)]
    agents = [request(str(n), 20 * n, prompt([*shared, block(f"task {n}", 33)], 0, 2), lane=str(n)) for n in range(3)]
    served = serve(ModeledProvider(), *agents)
    assert [(one.usage.read, one.usage.write) for one in served] == [(0, 11_374), (6_076, 5_298), (6_076, 5_298)]
    mended = [
        request(str(n), 20 * n, prompt([*shared, block(f"task {n}", 33)], 0, 1, 2), lane=str(n)) for n in range(3)
    ]
    assert [one.usage.write for one in serve(ModeledProvider(), *mended)] == [11_374, 33, 33]


def shapes(shape: str) -> Prompt:
    """The prompt of a resumed session: its second message as a string, or as a list of one block."""
    blocks = [*HEAD, block("hi", 10), block("notes", 6_000, shape="string" if shape == "string" else "list")]
    return prompt([*blocks, block("go on", 50)], 1, 4)


@pytest.mark.parametrize(
    ("model", "read"), [("claude-fable-5-1", 2_000), ("claude-opus-5", 8_060), ("claude-opus-4-8", 8_060)]
)
def test_c36_a_string_in_place_of_a_list_matters_by_model(model, read):
    first = request("a", 0, shapes("list"), model=model)
    second = request("b", 20, shapes("string"), model=model)
    assert serve(ModeledProvider(), first, second)[1].usage.read == read


def test_c36_the_shape_rule_can_be_switched_off():
    plain = ModeledProvider(rules("claude-fable-5-1").with_(shape_in_key=False))
    first, second = (
        request(n, t, shapes(s), model="claude-fable-5-1") for n, t, s in (("a", 0, "list"), ("b", 9, "string"))
    )
    assert serve(plain, first, second)[1].usage.read == 8_060


def test_c33_while_the_delay_was_in_force_both_outcomes_fit_the_rules():
    spring = int(datetime(2026, 4, 26, tzinfo=UTC).timestamp())
    backend = ModeledProvider()
    one = request("a", 0, prompt([block("s", 1_215, "system")], 0), model="claude-sonnet-4-5", day=spring)
    two = request("b", 2, prompt([block("s", 1_215, "system")], 0), model="claude-sonnet-4-5", day=spring)
    first, second = serve(backend, one, two)
    assert (first.usage.write, second.usage.read) == (1_215, 1_215)
    assert backend.rules_of(two, two.start or 0).readable_doubt * SECOND > SECOND


def test_a_row_without_a_prompt_passes_through_with_what_its_log_reported():
    usage = Usage(fresh=3, read=10)
    (served,) = serve(ModeledProvider(), request("a", 0, None, usage=usage))
    assert (served.usage, served.hit, served.written) == (usage, 0, ())


def test_without_breakpoints_everything_is_ordinary_input():
    body = prompt(HEAD)
    served = serve(ModeledProvider(), request("a", 0, body), request("b", 20, body))
    assert [numbers(one) for one in served] == [(0, 0, 2_000)] * 2
