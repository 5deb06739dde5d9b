"""Prompts, breakpoints and settings of whole bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import BodyError, MessagesReader, model_of
from agentsim.core.prompt import Breakpoint, Prompt

FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def read(**body: Any) -> Prompt:
    return MessagesReader().prompt({"messages": [], **body})


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def test_markers_become_breakpoints_with_their_lifetime():
    prompt = read(
        tools=[{"name": "a"}, {"name": "b", "cache_control": HOUR}],
        system=[text("s", cache_control=FIVE)],
        messages=[user(text("x"), text("y", cache_control={"type": "ephemeral", "ttl": "30m"}))],
    )
    assert prompt.breakpoints == (Breakpoint(1, 3600), Breakpoint(2, 300), Breakpoint(4, 1800))


def test_markers_nested_in_one_block_stand_at_its_position_and_each_counts():
    parts = [text("a", cache_control=FIVE), text("b", cache_control=FIVE)]
    result = {"type": "tool_result", "tool_use_id": "t", "content": parts}
    assert read(messages=[user(result)]).breakpoints == (Breakpoint(0, 300), Breakpoint(0, 300))


def test_five_markers_are_counted_where_a_message_was_multiplied():
    """Case C31: one on the system text, three copied to the results of one tool message, one on the newest block."""
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": "ok", "cache_control": FIVE} for n in range(3)
    ]
    prompt = read(
        system=[text("s", cache_control=FIVE)],
        messages=[user(text("go")), *(user(result) for result in results), user(text("next", cache_control=FIVE))],
    )
    assert len(prompt.breakpoints) == 1 + 3 + 1
    assert [prompt[marker.position].message for marker in prompt.breakpoints[1:4]] == [1, 2, 3]
    assert all(prompt[marker.position].kind == "tool_result" for marker in prompt.breakpoints[1:4])


def test_automatic_caching_marks_the_last_block():
    prompt = read(messages=[user(text("a"), text("b"))], cache_control=HOUR)
    assert prompt.breakpoints == (Breakpoint(1, 3600),)


def test_automatic_caching_walks_back_over_thinking_and_empty_text():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    answer = {"role": "assistant", "content": [text("sure"), thinking, {"type": "redacted_thinking", "data": "x"}]}
    prompt = read(messages=[user(text("a")), answer, user(text(""))], cache_control=FIVE)
    assert prompt.breakpoints == (Breakpoint(1, 300),)
    assert read(messages=[user(text(""))], cache_control=FIVE).breakpoints == ()


def test_automatic_caching_adds_nothing_to_a_marked_block_and_stands_in_order_otherwise():
    marked = read(messages=[user(text("a", cache_control=FIVE))], cache_control=FIVE)
    assert marked.breakpoints == (Breakpoint(0, 300),)
    both = read(messages=[user(text("a", cache_control=FIVE), text("b"))], cache_control=FIVE)
    assert both.breakpoints == (Breakpoint(0, 300), Breakpoint(1, 300))
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s", "cache_control": HOUR}
    assert read(messages=[user(text("a"), thinking)], cache_control=FIVE).breakpoints == (
        Breakpoint(0, 300),
        Breakpoint(1, 3600),
    )


def test_system_messages_in_the_conversation_are_blocks_there():
    prompt = read(system="front", messages=[user(text("a")), {"role": "system", "content": "note"}])
    assert [(block.section, block.role) for block in prompt] == [
        ("system", None),
        ("messages", "user"),
        ("messages", "system"),
    ]


def test_a_system_message_without_content_that_sets_options_is_a_block():
    def with_effort(effort: str) -> Prompt:
        option = {"role": "system", "content": [], "output_config": {"effort": effort}}
        return read(messages=[user(text("a")), option])

    assert [block.kind for block in with_effort("low")] == ["text", "options"]
    bare = read(messages=[user(text("a")), {"role": "system", "output_config": {"effort": "low"}}])
    assert bare.digest == with_effort("low").digest
    assert with_effort("low").digest != with_effort("high").digest


WEATHER = {"name": "weather", "description": "tells the weather", "input_schema": {"type": "object"}}
DEFERRED = {**WEATHER, "defer_loading": True}
FOUND = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "weather"}]}


def test_deferred_tools_leave_the_prefix():
    with_it = read(tools=[{"name": "search"}, DEFERRED], messages=[user(text("a"))])
    without = read(tools=[{"name": "search"}], messages=[user(text("a"))])
    assert with_it.digest == without.digest
    loaded = read(tools=[{"name": "search"}, {**WEATHER, "defer_loading": False}], messages=[user(text("a"))])
    assert loaded.digest == read(tools=[{"name": "search"}, WEATHER], messages=[user(text("a"))]).digest


def test_a_deferred_tool_cannot_be_marked():
    with pytest.raises(BodyError) as error:
        read(tools=[{**DEFERRED, "cache_control": FIVE}])
    assert error.value.path == "tools[0].cache_control"


@pytest.mark.parametrize(
    "block",
    [
        FOUND,
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "t",
            "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "weather"}],
            },
        },
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "weather"}},
    ],
)
def test_a_reference_expands_the_deferred_definition_at_its_place(block):
    def found(description: str) -> Prompt:
        tool = {**DEFERRED, "description": description}
        return read(tools=[{"name": "search"}, tool], messages=[user(text("a")), user(block), user(text("b"))])

    short, long = found("tells the weather"), found("tells the weather " * 100)
    assert short.common_length(long) == 2
    assert short[2].kind == block["type"]
    assert long.tokens > short.tokens + 100


def test_a_removal_does_not_expand():
    def removed(description: str) -> Prompt:
        block = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "weather"}}
        return read(tools=[{**DEFERRED, "description": description}], messages=[user(block)])

    assert removed("one").digest == removed("another").digest


def test_an_expansion_is_not_carried_over_when_the_definition_changed():
    """The message's bytes are equal, yet its block is not: the short cut must not be taken."""
    reader = MessagesReader()
    messages = [user(text("a")), user(FOUND)]
    old = reader.prompt({"tools": [{"name": "s"}, DEFERRED], "messages": messages})
    body = {"tools": [{"name": "s"}, {**DEFERRED, "description": "new"}], "messages": messages}
    grown = reader.prompt(body, grew_from=old)
    assert grown.digest == MessagesReader().prompt(body).digest
    assert grown.common_length(old) == 2


def test_web_search_is_rendered_behind_the_tools():
    """Documented: switching it leaves the tools cached and loses the system text."""
    plain = read(tools=[{"name": "a"}, {"name": "b"}], system="s")
    search = {"type": "web_search_20250305", "name": "web_search"}
    with_search = read(tools=[{"name": "a"}, search, {"name": "b"}], system="s")
    assert plain.common_length(with_search) == 2
    assert [block.section for block in with_search] == ["tools", "tools", "system", "system"]


def test_settings_are_those_that_can_be_in_the_key():
    settings = MessagesReader().settings(
        {
            "model": "m",
            "messages": [],
            "max_tokens": 1,
            "temperature": 0.5,
            "metadata": {"user_id": "u"},
            "stream": True,
            "service_tier": "auto",
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "high"},
            "betas": ["b", "a", "b"],
            "speed": None,
        }
    )
    assert settings == (
        ("betas", '["a","b"]'),
        ("citations", "false"),
        ("effort", '"high"'),
        ("images_present", "false"),
        ("thinking", '{"type":"adaptive"}'),
        ("tool_choice", '{"disable_parallel_tool_use":true,"type":"auto"}'),
    )


def test_images_and_citations_are_found_wherever_they_are():
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
    nested = {"type": "tool_result", "tool_use_id": "t", "content": [image]}
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "d"},
        "citations": {"enabled": True},
    }
    assert ("images_present", "true") in MessagesReader().settings({"messages": [user(image)]})
    assert ("images_present", "true") in MessagesReader().settings({"messages": [user(nested)]})
    assert ("citations", "true") in MessagesReader().settings({"messages": [user(document)]})
    words = text('{"type": "image", "citations": {"enabled": true}}')
    assert MessagesReader().settings({"messages": [user(words)]}) == (
        ("citations", "false"),
        ("images_present", "false"),
    )


def test_an_image_is_remembered_across_a_grown_body() -> None:
    reader = MessagesReader()
    messages: list[Any] = [user({"type": "image", "source": {"type": "url", "url": "u"}})]
    first = reader.read(json.dumps({"messages": messages}).encode())
    messages.append(user(text("b")))
    second = reader.read(json.dumps({"messages": messages}).encode(), first.prompt)
    assert ("images_present", "true") in second.settings


def test_the_model_is_named_or_unknown():
    assert model_of({"model": "claude-opus-5"}) == "claude-opus-5"
    assert model_of(b'{"messages": [], "model": "claude-opus-5"}') == "claude-opus-5"
    assert model_of(b"{}") is None
    assert model_of(b"{") is None
    assert model_of({"model": 5}) is None


def test_a_key_changes_all_digests_and_no_text_is_kept_without_leave():
    body = {"messages": [user(text("secret words"))]}
    plain = MessagesReader().prompt(body)
    keyed = MessagesReader(key=b"k" * 32).prompt(body, keep_text=False)
    again = MessagesReader(key=b"k" * 32).prompt(body)
    assert keyed[0].digest == again[0].digest != plain[0].digest
    assert (keyed[0].text, again[0].text) == (None, "secret words")


def test_text_is_not_taken_over_from_a_reading_without_text():
    reader = MessagesReader()
    body = json.dumps({"messages": [user(text("a"))]}).encode()
    bare = reader.prompt(body, keep_text=False)
    assert reader.prompt(body, grew_from=bare)[0].text == "a"
    assert reader.prompt(body, grew_from=reader.prompt(body), keep_text=False)[0].text is None


def test_the_client_hash_is_ignored_for_the_provider_that_ignores_it():
    """Case C25: at Anthropic the changing hash in the first system block costs nothing; elsewhere it breaks there."""

    def prompts(provider: str) -> list[Prompt]:
        reader = MessagesReader(provider=provider)
        header = "x-anthropic-billing-header: cc_version=2.1.1; cc_entrypoint=cli; cch={};"
        return [
            reader.prompt({"system": [text(header.format(value)), text("rest")], "messages": [user(text("a"))]})
            for value in ("36ee5", "0aaa9")
        ]

    first, second = prompts("anthropic")
    assert first.digest == second.digest
    first, second = prompts("openrouter")
    assert first.common_length(second) == 0


def test_the_client_hash_is_ignored_in_the_first_system_block_only():
    def second_block(value: str) -> Prompt:
        return read(system=[text("front"), text(f"cch={value};")])

    assert second_block("36ee5").digest != second_block("0aaa9").digest


def test_growing_shares_the_blocks_of_the_prompt_before() -> None:
    reader = MessagesReader()
    messages: list[Any] = [user(text("a")), {"role": "assistant", "content": "b"}]
    old = reader.prompt(json.dumps({"system": "s", "messages": messages}).encode())
    messages.append(user(text("c")))
    new = reader.prompt(json.dumps({"system": "s", "messages": messages}).encode(), grew_from=old)
    assert len(new) == len(old) + 1
    assert all(new[position] is old[position] for position in range(len(old)))


def test_a_message_that_only_changed_its_shape_gets_its_own_block():
    reader = MessagesReader()
    old = reader.prompt({"messages": [user(text("a")), user(text("b"))]})
    new = reader.prompt({"messages": [{"role": "user", "content": "a"}, user(text("b"))]}, grew_from=old)
    assert new.digest == old.digest
    assert [block.shape for block in new] == ["string", "list"]


def test_a_block_that_only_moved_to_another_message_says_so():
    reader = MessagesReader()
    old = reader.prompt({"messages": [user(text("a"))]})
    new = reader.prompt({"messages": [user(), user(text("a"))]}, grew_from=old)
    assert new.digest == old.digest
    assert new[0].message == 1


def test_a_marker_that_moved_on_leaves_none_behind():
    reader = MessagesReader()
    old = reader.prompt({"messages": [user(text("a")), user(text("b", cache_control=FIVE))]})
    new = reader.prompt({"messages": [user(text("a")), user(text("b"))]}, grew_from=old)
    assert (old.breakpoints, new.breakpoints) == ((Breakpoint(1, 300),), ())


# --- properties -----------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["", "a", "b", "line\n", 'quote"', "ü", "cch=12ab;", "x" * 300])
BLOCKS = st.one_of(
    st.builds(text, WORDS),
    st.builds(lambda words: text(words, cache_control=HOUR), WORDS),
    st.builds(lambda w: {"type": "tool_result", "tool_use_id": "t", "content": w}, WORDS),
    st.builds(lambda w: {"type": "thinking", "thinking": w, "signature": "s"}, WORDS),
    st.just(FOUND),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 100}}),
)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.one_of(WORDS, st.lists(BLOCKS, max_size=3)),
)
TOOLS = st.lists(st.sampled_from([{"name": "a"}, WEATHER, DEFERRED, {"type": "web_search_1", "name": "w"}]), max_size=3)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, max_size=4)},
    optional={"tools": TOOLS, "system": st.one_of(WORDS, st.lists(st.builds(text, WORDS), max_size=2))},
)


@given(st.lists(st.tuples(BODIES, st.booleans()), min_size=1, max_size=5))
def test_a_body_read_after_others_is_as_if_read_alone(steps: list[tuple[dict[str, Any], bool]]) -> None:
    """Each body takes over the messages of the one before or not; blocks, breakpoints and settings must be the same."""
    reader = MessagesReader()
    before: Prompt | None = None
    messages: list[Any] = []
    for body, goes_on in steps:
        messages = [*messages, *body["messages"]] if goes_on else body["messages"]
        raw = json.dumps({**body, "messages": messages, "cache_control": FIVE}).encode()
        grown, alone = reader.read(raw, before), MessagesReader().read(raw)
        assert list(grown.prompt) == list(alone.prompt)
        assert grown.prompt == alone.prompt
        assert grown.settings == alone.settings
        before = grown.prompt


@given(BODIES, st.data())
def test_moving_markers_changes_no_digest(body, data):
    marked = json.loads(json.dumps(body))
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message["content"] = [
                {k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]
            ]
    plain = MessagesReader().prompt(body)
    count = 0
    for message in marked["messages"]:
        if isinstance(message["content"], list):
            for block in message["content"]:
                block["cache_control"] = data.draw(st.sampled_from([None, FIVE, HOUR]))
                count += block["cache_control"] is not None
    prompt = MessagesReader().prompt(marked)
    assert prompt.digest == plain.digest
    assert len(prompt.breakpoints) == count


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["messages", "tools", "system", "cache_control", "thinking", "output_config", "betas", "model"]
)


@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_any_json_is_read_or_refused(body):
    try:
        prompt = MessagesReader().prompt(body)
    except BodyError:
        return
    assert prompt.tokens >= 0


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    with pytest.raises(BodyError):
        MessagesReader().prompt(data)
