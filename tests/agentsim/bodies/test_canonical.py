"""What makes two blocks the same, and what does not."""

from __future__ import annotations

import json

import pytest

from agentsim.bodies import BodyError, MessagesReader
from agentsim.core.prompt import Block, Prompt


def read(**body: object) -> Prompt:
    return MessagesReader().prompt({"model": "claude-opus-4-8", "messages": [], **body})


def one(block: object, role: str = "user") -> Block:
    prompt = read(messages=[{"role": role, "content": [block]}])
    assert len(prompt) == 1
    return prompt[0]


def digest_of(raw_block: str) -> bytes:
    body = b'{"messages":[{"role":"user","content":[' + raw_block.encode() + b"]}]}"
    return MessagesReader().prompt(body)[0].digest


def test_tools_come_before_system_and_system_before_messages():
    prompt = read(
        messages=[{"role": "user", "content": "hi"}],
        system="be brief",
        tools=[{"name": "read", "description": "reads", "input_schema": {}}],
    )
    assert [(block.section, block.kind) for block in prompt] == [
        ("tools", "tool"),
        ("system", "text"),
        ("messages", "text"),
    ]
    assert [block.name for block in prompt] == ["read", None, None]


def test_a_string_is_a_list_of_one_text_block_but_for_its_shape():
    as_string = read(system="s", messages=[{"role": "user", "content": "text"}])
    as_list = read(
        system=[{"type": "text", "text": "s"}],
        messages=[{"role": "user", "content": [{"type": "text", "text": "text"}]}],
    )
    assert as_string.digest == as_list.digest
    assert [block.shape for block in as_string] == ["string", "string"]
    assert [block.shape for block in as_list] == ["list", "list"]


def test_the_canonical_text_of_a_text_block_is_its_text():
    assert one({"type": "text", "text": 'a "quoted"\nline'}).text == 'a "quoted"\nline'


@pytest.mark.parametrize(
    "other",
    [
        '{"text":"caf\\u00e9 / x","type":"text"}',  # fields in another order, an escape
        ' { "type" : "text" , "text" : "café \\/ x" } ',  # white space, an escaped slash
        '{"type":"text","text":"café / x","citations":null}',  # null is as good as absent
        '{"type":"text","text":"café / x","cache_control":{"type":"ephemeral"}}',  # a marker is no content
    ],
)
def test_json_spelling_field_order_nulls_and_markers_do_not_matter(other):
    assert digest_of('{"type":"text","text":"café / x"}') == digest_of(other)


def test_text_role_kind_and_section_matter():
    base = one({"type": "text", "text": "same"})
    assert base.digest != one({"type": "text", "text": "same "}).digest
    assert base.digest != one({"type": "text", "text": "same"}, role="assistant").digest
    assert base.digest != one({"type": "thinking", "thinking": "same", "signature": ""}).digest
    assert base.digest != read(system="same")[0].digest


def test_the_order_of_input_keys_matters_and_that_of_the_blocks_own_fields_does_not():
    first = '{"type":"tool_use","id":"t1","name":"edit","input":{"path":"a","line":3}}'
    fields_moved = '{"input":{"path":"a","line":3},"name":"edit","id":"t1","type":"tool_use"}'
    keys_moved = '{"type":"tool_use","id":"t1","name":"edit","input":{"line":3,"path":"a"}}'
    assert digest_of(first) == digest_of(fields_moved)
    assert digest_of(first) != digest_of(keys_moved)


def test_the_order_of_schema_keys_matters():
    one_way = read(tools=[{"name": "a", "input_schema": {"type": "object", "properties": {"x": {}, "y": {}}}}])
    other_way = read(tools=[{"name": "a", "input_schema": {"type": "object", "properties": {"y": {}, "x": {}}}}])
    fields_moved = read(tools=[{"input_schema": {"type": "object", "properties": {"x": {}, "y": {}}}, "name": "a"}])
    assert one_way.digest != other_way.digest
    assert one_way.digest == fields_moved.digest


def test_a_tool_result_is_one_block_whatever_it_holds():
    as_string = one({"type": "tool_result", "tool_use_id": "t1", "content": "out"})
    as_list = one({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]})
    two_parts = one({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "o"}] * 2})
    assert as_string.digest == as_list.digest
    assert (as_string.shape, as_list.shape) == ("string", "list")
    assert two_parts.digest != as_list.digest
    assert as_string.digest != one({"type": "tool_result", "tool_use_id": "t2", "content": "out"}).digest


def test_a_text_that_imitates_a_list_of_blocks_is_not_one():
    parts = [{"text": "o", "type": "text"}] * 2
    real = one({"type": "tool_result", "tool_use_id": "t1", "content": parts})
    imitation = one({"type": "tool_result", "tool_use_id": "t1", "content": json.dumps(parts, separators=(",", ":"))})
    assert real.text == imitation.text
    assert real.digest != imitation.digest


def test_base64_data_is_kept_as_hash_and_size():
    def image(data: str) -> Block:
        return one({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})

    big = image("A" * 100_000)
    assert big.text is not None
    assert len(big.text) < 200
    assert big.digest != image("A" * 99_999 + "B").digest


def test_a_marker_inside_the_input_of_a_tool_call_is_content():
    block = '{"type":"tool_use","id":"t","name":"n","input":{"cache_control":{"type":"ephemeral"}}}'
    prompt = MessagesReader().prompt(b'{"messages":[{"role":"assistant","content":[' + block.encode() + b"]}]}")
    assert prompt.breakpoints == ()
    assert digest_of(block) != digest_of('{"type":"tool_use","id":"t","name":"n","input":{}}')


def test_blocks_of_an_unknown_kind_are_kept_whole():
    block = one({"type": "hologram", "depth": 3, "b": [1.5, None]})
    assert block.kind == "hologram"
    assert block.digest != one({"type": "hologram", "depth": 4, "b": [1.5, None]}).digest


def test_half_an_emoji_is_read_and_told_from_the_escape_in_words():
    half = rb'{"messages":[{"role":"user","content":"cut \ud83d"}]}'
    words = rb'{"messages":[{"role":"user","content":"cut \\ud83d!"}]}'
    pair = rb'{"messages":[{"role":"user","content":"\ud83d\ude00 and \\\ud83d"}]}'
    reader = MessagesReader()
    assert reader.prompt(half)[0].text == "cut \\ud83d"
    assert reader.prompt(words)[0].text == "cut \\ud83d!"
    both = rb'{"messages":[{"role":"user","content":"\\ud83d \ud83d \\\ud83d"}]}'
    assert reader.prompt(both)[0].text == "\\ud83d \\ud83d \\\\ud83d"
    assert reader.prompt(pair)[0].text == "\N{GRINNING FACE} and \\\\ud83d"
    assert reader.prompt({"messages": [{"role": "user", "content": "cut \ud83d"}]}).digest == reader.prompt(half).digest


def test_numbers_beyond_a_float_do_not_crash():
    small, large = (digest_of('{"type":"x","n":' + number + "}") for number in ("1e998", "1e999"))
    assert small != large


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", ""),
        (b"[]", ""),
        (b'{"messages": 3}', "messages"),
        (b'{"model": "m"}', ""),
        (b'{"messages": [3]}', "messages[0]"),
        (b'{"messages": [{"role": 1, "content": ""}]}', "messages[0].role"),
        (b'{"messages": [{"role": "user"}]}', "messages[0].content"),
        (b'{"messages": [{"role": "user", "content": 5}]}', "messages[0].content"),
        (b'{"messages": [{"role": "user", "content": ["x", 5]}]}', "messages[0].content[1]"),
        (b'{"messages": [{"role": "user", "content": [{"text": "x"}]}]}', "messages[0].content[0].type"),
        (b'{"messages": [], "system": {}}', "system"),
        (b'{"messages": [], "tools": {}}', "tools"),
        (b'{"messages": [], "tools": ["x"]}', "tools[0]"),
        (b'{"messages": [], "thinking": NaN}', ""),
        (b'{"messages": [], "cache_control": {"ttl": "soon"}}', "cache_control.ttl"),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "messages[0].content"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "text", "text": "", "cache_control": 1}]}]}',
            "messages[0].content[0].cache_control",
        ),
    ],
)
def test_a_bad_body_is_refused_with_the_place(body, path):
    with pytest.raises(BodyError) as error:
        MessagesReader().prompt(body)
    assert error.value.path == path


@pytest.mark.parametrize("depth", [1_500, 200_000])
def test_deep_nesting_is_refused_or_read_but_never_crashes(depth):
    nested = "[" * depth + "]" * depth
    body = '{"messages":[{"role":"user","content":[{"type":"x","content":' + nested + "}]}]}"
    with pytest.raises(BodyError):
        MessagesReader().prompt(body.encode())
