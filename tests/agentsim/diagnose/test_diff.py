"""Where two prompts part: every kind of change, with and without texts, and the public cases that concern it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import MessagesReader
from agentsim.core.prompt import Prompt
from agentsim.core.verdict import Divergence
from agentsim.diagnose.prompt_diff import cause_of, first_difference, shape_difference
from agentsim.diagnose.text_edits import changed_characters, common_prefix, common_suffix

MARK = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(item) if isinstance(item, str) else item for item in content]}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def result(content: Any, name: str = "t1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def tools(*names: str, **descriptions: str) -> list[dict[str, Any]]:
    return [{"name": name, "description": descriptions.get(name, f"the {name} tool")} for name in names]


def judge(old: dict[str, Any], new: dict[str, Any], *, keep_text: bool = True) -> tuple[Divergence, str]:
    """The place and the cause between two bodies, read with one reader as a session would be."""
    reader = MessagesReader(key=b"" if keep_text else b"secret")
    before = reader.prompt({"messages": [], **old}, keep_text=keep_text)
    after = reader.prompt({"messages": [], **new}, grew_from=before, keep_text=keep_text)
    place = first_difference(before, after)
    assert place is not None
    return place, cause_of(place, before, after)


# --- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "change", "address", "name", "code"),
    [
        (tools("a", "b"), tools("a", "x", "b"), "inserted", "tools[1]", "x", "AS101"),
        (tools("a", "b"), tools("a", "b", "x"), "inserted", "tools[2]", "x", "AS101"),
        (tools("a", "b", "c"), tools("a", "c"), "removed", "tools[1]", "b", "AS102"),
        (tools("a", "b"), tools("a"), "removed", "tools[1]", "b", "AS102"),
        (tools("a", "b", "c"), tools("c", "a", "b"), "reordered", "tools[0]", "a", "AS103"),
        (tools("a", "b", "c"), tools("a", "b", "c", b="other"), "edited", "tools[1]", "b", "AS104"),
        (tools("a", "b", "c"), tools("x", "y"), "removed", "tools[0]", "a", "AS102"),
    ],
)
def test_tools(old, new, change, address, name, code, keep_text):
    rest = {"system": "s", "messages": [user("hi")]}
    place, cause = judge({"tools": old, **rest}, {"tools": new, **rest}, keep_text=keep_text)
    assert (place.section, place.change, place.address, place.name, cause) == ("tools", change, address, name, code)


def test_the_offset_of_an_edited_description_counts_in_the_description():
    place, _ = judge({"tools": tools("a", a="lists 12 files")}, {"tools": tools("a", a="lists no files")})
    assert place.offset == len("lists ")


def test_web_search_switched_on_is_a_tool_inserted():
    search = {"type": "web_search_20250305", "name": "web_search"}
    place, cause = judge({"tools": tools("a"), "system": "s"}, {"tools": [search, *tools("a")], "system": "s"})
    assert (place.section, place.address, place.name, cause) == ("system", "tools[0]", "web_search", "AS101")


# --- system ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("You are X. Now: 2026-03-06 10:15:01", "You are X. Now: 2026-03-06 10:15:02"),  # seconds
        ("You are X. Now: 10:15", "You are X. Now: 10:16"),  # minutes
        ("You are X. It is Friday, March 6, 2026.", "You are X. It is Saturday, March 7, 2026."),  # one day on
        ("Date: 2026-03-31. Be kind.", "Date: 2026-04-01. Be kind."),
        ("Now 2026-03-06T10:15:01.123Z", "Now 2026-03-06T10:15:59.001Z"),
        ("id 3f2b8a52-7c1d-4e63-9f00-0123456789ab", "id 9d1c0b7e-0a4f-4f7b-8c11-ba9876543210"),
        ("session_4f9a8b7c6d", "session_9z8y7x6w5v"),
        ("seed 1741255501", "seed 1741255502"),
        ("cc_version=2; cch=36ee5;", "cc_version=2; cch=0aaa9;"),
        ("at 9:59:59, request 9", "at 10:00:00, request 10"),
    ],
)
def test_clocks_and_ids_in_the_system_text_are_volatile(old, new):
    """Case C23: a clock in the system text, by the second, the minute and the day; and other things that tick."""
    reader = MessagesReader(provider="any")
    before = reader.prompt({"system": [text("front"), text(old)], "messages": []})
    after = reader.prompt({"system": [text("front"), text(new)], "messages": []})
    place = first_difference(before, after)
    assert place is not None
    assert (place.address, place.change, cause_of(place, before, after)) == ("system[1]", "volatile", "AS111")
    assert place.offset == next(index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("You may edit files.", "You may read files."),
        ("Now: 2026-03-06. Be kind.", "Now: 2026-03-07. Be terse."),  # a date and something else
        ("You are Xavier", "You are Yvonne"),
    ],
)
def test_other_words_are_an_edit(old, new):
    place, cause = judge({"system": old}, {"system": new})
    assert (place.address, place.change, cause) == ("system", "edited", "AS110")


def test_the_client_hash_breaks_elsewhere_but_not_at_anthropic():
    """Case C25, at the place: nothing to report for the provider that ignores it, block 0 for any other."""
    header = "x-anthropic-billing-header: cc_version=2.1.1; cch={};"
    bodies = [
        {"system": [text(header.format(value)), text("rest")], "messages": [user("a")]} for value in ("36ee5", "0aaa9")
    ]
    old, new = (MessagesReader(provider="anthropic").prompt(body) for body in bodies)
    assert first_difference(old, new) is None
    old, new = (MessagesReader(provider="sglang").prompt(body) for body in bodies)
    place = first_difference(old, new)
    assert place is not None
    assert (place.block, place.offset, place.change) == (0, header.index("{"), "volatile")


# --- messages -------------------------------------------------------------------------------------------------------

HISTORY = [user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"), assistant("a3")]


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize(
    ("new", "change", "address", "code"),
    [
        ([*HISTORY[:2], user("note"), *HISTORY[2:], user("q4")], "inserted", "messages[2].content[0]", "AS124"),
        ([*HISTORY[:2], *HISTORY[4:], user("q4")], "removed", "messages[2].content[0]", "AS121"),
        ([*HISTORY[2:], user("q4")], "truncated", "messages[0].content[0]", "AS121"),
        (HISTORY[:3], "truncated", "messages[3].content[0]", "AS121"),
        ([*HISTORY[:2], user("q2!"), *HISTORY[3:], user("q4")], "edited", "messages[2].content[0]", "AS120"),
        ([user("a summary")], "edited", "messages[0].content[0]", "AS131"),
    ],
)
def test_messages(new, change, address, code, keep_text):
    place, cause = judge({"messages": HISTORY}, {"messages": new}, keep_text=keep_text)
    assert (place.section, place.change, place.address, cause) == ("messages", change, address, code)


def test_parallel_results_in_another_order_are_reordered():
    old = [user("q"), user(result("one", "t1"), result("two", "t2"), result("three", "t3"))]
    new = [user("q"), user(result("two", "t2"), result("one", "t1"), result("three", "t3")), assistant("a")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.address, cause) == ("reordered", "messages[1].content[0]", "AS125")


@pytest.mark.parametrize("keep_text", [True, False])
def test_turns_that_changed_places_are_reordered(keep_text):
    new = [*HISTORY[2:4], *HISTORY[:2], *HISTORY[4:], user("q4")]
    place, cause = judge({"messages": HISTORY}, {"messages": new}, keep_text=keep_text)
    assert (place.change, place.address, cause) == ("reordered", "messages[0].content[0]", "AS125")


def test_a_text_that_turns_up_again_by_chance_is_no_insertion():
    old = [user("go on"), assistant("a1"), user("q2"), assistant("a2")]
    new = [user("start"), assistant("b1"), user("go on"), assistant("b2"), user("q3")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.address, cause) == ("edited", "messages[0].content[0]", "AS120")


def test_a_history_replaced_by_a_longer_one_did_not_shrink():
    _, cause = judge({"messages": HISTORY}, {"messages": [user("another story " * 100)]})
    assert cause == "AS120"


def test_blanks_that_became_other_blanks_are_white_space():
    place, cause = judge({"messages": [user("a  b c")]}, {"messages": [user("a\nb c")]})
    assert (place.change, place.offset, cause) == ("whitespace", 1, "AS128")


def test_nothing_differs_when_the_prompt_only_grew():
    reader = MessagesReader()
    old = reader.prompt({"messages": HISTORY})
    assert first_difference(old, reader.prompt({"messages": [*HISTORY, user("q4")]})) is None
    assert first_difference(Prompt.of(()), old) is None
    assert first_difference(old, old) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (result("line\n" * 500), result("[Old tool result content cleared]")),
        (result("line\n" * 500), result("")),
        (result("line\n" * 500), result([])),
        (result([text("line"), text("more")]), result("")),
        (result("line\n" * 500), result("<removed to save context>")),
    ],
)
def test_an_old_result_that_gave_way_to_a_notice_is_cleared(old, new):
    rest = [assistant("a"), user("b")]
    place, cause = judge({"messages": [user(old), *rest]}, {"messages": [user(new), *rest, assistant("c")]})
    assert (place.change, place.address, cause) == ("cleared", "messages[0].content[0]", "AS122")


def test_a_result_cut_short_is_truncated():
    long = "".join(f"row {number}\n" for number in range(400))
    for cut in (long[:1000], long[:500] + "\n... 3000 characters left out ...\n" + long[-500:]):
        old = [user(result(long)), assistant("a")]
        place, cause = judge({"messages": old}, {"messages": [user(result(cut)), assistant("a"), user("b")]})
        assert (place.change, cause) == ("truncated", "AS122")


def test_thinking_that_was_dropped_is_clearing():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    old = [user("q"), assistant(thought, "a"), user("b")]
    place, cause = judge({"messages": old}, {"messages": [user("q"), assistant("a"), user("b"), assistant("c")]})
    assert (place.change, place.address, cause) == ("removed", "messages[1].content[0]", "AS122")


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("ctx_first", [True, False])
def test_a_context_block_taken_out_of_the_previous_message(ctx_first, keep_text):
    """Case C24: ctx rides in the newest message and is gone from it on the next turn, where a new one stands."""

    def turn(words: str, ctx: str) -> dict[str, Any]:
        return user(ctx, words) if ctx_first else user(words, ctx)

    old = [user("u1"), assistant("a1"), turn("u2", "ctx 10:01")]
    new = [user("u1"), assistant("a1"), user("u2"), assistant("a2"), turn("u3", "ctx 10:02")]
    place, cause = judge({"messages": old}, {"messages": new}, keep_text=keep_text)
    assert (place.change, cause) == ("removed", "AS123")
    assert place.address == ("messages[2].content[0]" if ctx_first else "messages[2].content[1]")


def test_a_context_block_that_moved_to_the_newest_message():
    old = [user("u1", "ctx")]
    new = [user("u1"), assistant("a1"), user("u2", "ctx")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.address, cause) == ("removed", "messages[0].content[1]", "AS123")


def test_context_written_into_the_text_of_the_previous_message():
    old = [user("u1"), assistant("a1"), user("please fix it\n<ctx>10:01</ctx>")]
    new = [user("u1"), assistant("a1"), user("please fix it"), assistant("a2"), user("and now\n<ctx>10:02</ctx>")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.offset, cause) == ("truncated", len("please fix it"), "AS123")


def test_a_string_that_was_a_list_and_the_marker_that_vanished_are_two_facts():
    """Case C36: on resume the second message is a plain string, its 26,285 characters equal, its marker gone."""
    words = "r" * 26_285
    reader = MessagesReader()
    fresh = reader.prompt({"messages": [user("q"), user(text(words, cache_control=MARK)), assistant("a")]})
    resumed = reader.prompt({"messages": [user("q"), {"role": "user", "content": words}, assistant("a"), user("b")]})
    assert fresh.common_length(resumed) == len(fresh)  # the text is equal: no content differs
    place = first_difference(fresh, resumed)
    assert place is not None
    assert (place.change, place.block, place.offset) == ("shape", 1, None)
    assert place.address == "messages[1].content[0]"
    assert cause_of(place, fresh, resumed) == "AS127"
    assert [marker.position for marker in fresh.breakpoints] == [1]
    assert resumed.breakpoints == ()
    kept = reader.prompt({"messages": [user("q"), user(text(words)), assistant("a")]})
    assert shape_difference(fresh, kept) is None  # the marker alone is no change of shape


def test_an_early_message_edited_in_place():
    """Case C37: a scratchpad at message 1 is rendered anew; 152 of its 6,024 characters differ."""
    rng = random.Random(37)
    front = "".join(rng.choices("abcdefgh \n", k=1000))
    back = "".join(rng.choices("abcdefgh \n", k=6024 - 1000 - 152))
    old_words = "STEP " + "one hundred and seven ".ljust(147, "x")
    new_words = "step " + "two thousand and nine ".ljust(147, "y")
    assert len(old_words) == len(new_words) == 152
    old = [user("task"), user(f"{front}{old_words}{back}"), assistant("a")]
    new = [user("task"), user(f"{front}{new_words}{back}"), assistant("a"), user("b")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.address, place.change, place.offset, cause) == ("messages[1].content[0]", "edited", 1000, "AS120")
    # word by word, the three blanks and the "and" that both have are no change
    assert 152 - len("   and ") <= (place.changed_characters or 0) <= 152


def test_one_replaced_word_of_152_characters_counts_152():
    old, new = f"{'a b ' * 300}{'x' * 152}{' c d' * 1000}", f"{'a b ' * 300}{'y' * 152}{' c d' * 1000}"
    place, _ = judge({"messages": [user(old)]}, {"messages": [user(new)]})
    assert (place.offset, place.changed_characters) == (1200, 152)


def test_trailing_white_space_that_was_stripped():
    """Case C38: the newline at the end is kept while the message carries its marker, and stripped afterwards."""
    old = [user("q"), user(text("file1\nfile2\n", cache_control=MARK))]
    new = [user("q"), {"role": "user", "content": "file1\nfile2"}, assistant("a")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.offset, place.changed_characters) == ("whitespace", len("file1\nfile2"), 1)
    assert cause == "AS128"


def test_input_keys_in_another_order():
    def call(given: dict[str, Any]) -> dict[str, Any]:
        return assistant({"type": "tool_use", "id": "t", "name": "edit", "input": given})

    old = [user("q"), call({"path": "a", "line": 3, "deep": {"x": 1, "y": [2]}})]
    new = [user("q"), call({"line": 3, "deep": {"y": [2], "x": 1}, "path": "a"}), user("b")]
    place, cause = judge({"messages": old}, {"messages": new})
    assert (place.change, place.name, cause) == ("key_order", "edit", "AS129")
    other = [user("q"), call({"line": 4, "deep": {"y": [2], "x": 1}, "path": "a"}), user("b")]
    assert judge({"messages": old}, {"messages": other})[0].change != "key_order"


def test_a_picture_replaced_by_words_is_cleared():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 200}}
    rest = [assistant("a"), user("b")]
    place, cause = judge({"messages": [user(image), *rest]}, {"messages": [user("[image]"), *rest]})
    assert (place.change, cause) == ("cleared", "AS122")


def test_content_is_shown_only_when_asked_for():
    reader = MessagesReader()
    old, new = (reader.prompt({"messages": [user(f"secret {word} end")]}) for word in ("alpha", "omega"))
    assert first_difference(old, new).before is None  # type: ignore[union-attr]
    shown = first_difference(old, new, show=True)
    assert shown is not None
    assert (shown.before, shown.after) == ("secret alpha end", "secret omega end")


def test_a_place_that_is_not_known_keeps_its_section():
    nothing = Prompt.of(())
    for section, code in (("tools", "AS105"), ("system", "AS112"), ("messages", "AS130"), (None, "AS190")):
        assert cause_of(Divergence(section=section), nothing, nothing) == code  # type: ignore[arg-type]


# --- texts ----------------------------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab \n", max_size=40)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_prefix_and_suffix_are_those_found_character_by_character(front, one, other, back):
    first, second = front + one + back, front + other + back
    limit = min(len(first), len(second))
    expected = next((n for n in range(limit) if first[n] != second[n]), limit)
    assert common_prefix(first, second) == expected
    expected = next((n for n in range(limit) if first[len(first) - 1 - n] != second[len(second) - 1 - n]), limit)
    assert common_suffix(first, second, limit) == expected


def test_changed_characters():
    assert changed_characters("", "abc") == changed_characters("abc", "") == 3
    assert changed_characters("one two", "one too") == 3  # the word "two"
    assert changed_characters("a b c", "x b y") == 2


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
def test_any_two_histories_part_where_their_blocks_do(one, other):
    """With repeated blocks too: the block named is the first that differs, and a cause is found."""
    reader = MessagesReader()
    old, new = (
        reader.prompt({"messages": [user(word) if n % 2 == 0 else assistant(word) for n, word in enumerate(words)]})
        for words in (one, other)
    )
    place = first_difference(old, new)
    common = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if common == len(one):
        assert place is None
    else:
        assert place is not None
        assert place.block == common
        assert cause_of(place, old, new).startswith("AS1")
