"""Bodies made of prompts: read again, they are the same prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import MessagesReader
from agentsim.bodies.block_parts import NoText
from agentsim.bodies.body_rendering import chat_body, messages_body
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.traces.format_registry import read

MARKER = {"type": "ephemeral"}
BODY: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "tools": [
        {"name": "Bash", "description": "Runs.", "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}},
        {"name": "Bare", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    ],
    "system": [{"type": "text", "text": "you"}, {"type": "text", "text": "are", "cache_control": MARKER}],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls", "b": 1, "a": [2]}},
                {"type": "tool_use", "id": "t2", "name": "Bash", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": '[{"type": "text", "text": "a string"}]'},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
                },
                {"type": "text", "text": "and now?", "cache_control": MARKER},
            ],
        },
    ],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "low"},
    "tool_choice": {"type": "auto"},
    "betas": ["b-1", "a-2"],
}


def round_trip(body: dict[str, Any]) -> Any:
    found = MessagesReader().read(json.dumps(body).encode())
    made = messages_body(found.prompt, found.settings)
    again = MessagesReader().read(json.dumps({"model": "m", **made.fields, "betas": list(made.betas)}).encode())
    assert again.prompt.digest == found.prompt.digest
    assert again.prompt.breakpoints == found.prompt.breakpoints
    return made


def test_a_body_of_every_kind_of_block_comes_back() -> None:
    made = round_trip(BODY)
    assert made.left_out == ()
    for name in ("system", "thinking", "output_config", "tool_choice"):
        assert made.fields[name] == BODY[name]
    assert made.fields["messages"][0] == BODY["messages"][0], "a string stays a string"
    assert made.fields["messages"][2] == BODY["messages"][2]
    assert set(made.betas) == {"b-1", "a-2"}
    assert "images_present" not in made.fields, "nobody's parameter"


@pytest.mark.parametrize("name", ["claude-trace", "pairs", "atlas-14", "gate-before"])
def test_bodies_of_samples_come_back(name: str) -> None:
    count = 0
    for session in read([f"traces/samples/{name}.jsonl"], []):
        for request in session.requests:
            comes_back(request)
            count += 1
    assert count >= 8


def test_bodies_of_a_real_session_come_back(shared_data: Path) -> None:
    (session,) = read([str(shared_data / "claude-trace" / "lemmy__claude-code-1.0.6-full-requests.jsonl")], [])
    for request in session.requests:
        comes_back(request)
    assert len(session.requests) == 64


def comes_back(request: Request) -> None:
    assert request.prompt is not None
    made = messages_body(request.prompt, request.settings)
    again = MessagesReader().prompt(json.dumps({"model": request.model, **made.fields}).encode())
    assert again.digest == request.prompt.digest
    assert again.breakpoints == request.prompt.breakpoints


def test_a_picture_is_left_out_and_told() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": [image, {"type": "text", "text": "what is it?"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "See", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]},
        ],
    }
    prompt = MessagesReader().prompt(json.dumps(body).encode())
    made = messages_body(prompt, ())
    assert made.left_out == ("other", "result")
    stand_in = {"type": "text", "text": "[left out]"}
    assert made.fields["messages"][0]["content"][0] == stand_in
    assert made.fields["messages"][2]["content"][0]["content"] == [stand_in]


def test_thinking_with_a_budget_does_not_fit_one_token_of_output() -> None:
    prompt = MessagesReader().prompt(json.dumps(BODY).encode())
    made = messages_body(prompt, (("thinking", '{"type":"enabled","budget_tokens":2048}'), ("effort", '"low"')))
    assert "thinking" not in made.fields
    assert made.left_out == ("thinking with a budget",)
    assert made.settings == (("effort", '"low"'),), "what is predicted is what is sent"


def test_chat_has_the_same_words_in_its_own_shape() -> None:
    prompt = MessagesReader().prompt(json.dumps(BODY).encode())
    made = chat_body(prompt, (("effort", '"low"'), ("tool_choice", '{"type":"auto"}')))
    assert made.fields["messages"] == [
        {"role": "system", "content": "you\n\nare"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "Bash", "arguments": '{"command":"ls","b":1,"a":[2]}'},
                },
                {"id": "t2", "type": "function", "function": {"name": "Bash", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": '[{"type": "text", "text": "a string"}]'},
        {"role": "tool", "tool_call_id": "t2", "content": "one\ntwo"},
        {"role": "user", "content": "and now?"},
    ]
    assert [tool["function"]["name"] for tool in made.fields["tools"]] == ["Bash", "Bare"]
    assert made.fields["reasoning_effort"] == "low"
    assert made.left_out == ("other", "server tools", "thinking")


def test_a_prompt_without_its_words_is_refused() -> None:
    prompt = MessagesReader().prompt(json.dumps(BODY).encode(), keep_text=False)
    with pytest.raises(NoText):
        messages_body(prompt, ())
    with pytest.raises(NoText):
        chat_body(prompt, ())


VALUES = st.sampled_from(
    [
        "",
        "words",
        "{}",
        "[]",
        "null",
        '{"a": 1}',
        '[{"type": "text"}]',
        '{"type": "function", "function": 3}',
        '{"function": {"name": 1, "arguments": 2}}',
        '{"call_id": 3, "output": [1]}',
        '"x"\x1e{"name": 3, "input": []}',
        '{}\x1e{"id": 1, "name": null}',
        '[1, {"text": 2}]\x1e{"tool_use_id": []}',
        "x\x1enot json",
        "x\x1e[1]",
        '\x1e{"source": {"type": "text"}, "content": [{"source": {"data": {"blake2b": 1}}}]}',
    ]
)
KINDS = st.sampled_from(
    ["text", "thinking", "tool", "tool_use", "tool_result", "options", "image", "document", "redacted_thinking", "odd"]
)
SECTIONS: Any = st.sampled_from(["tools", "system", "messages"])
BLOCKS = st.builds(
    lambda kind, section, text, role, message, shape: Block(
        section=section, kind=kind, digest=bytes(16), text=text, role=role, message=message, shape=shape
    ),
    KINDS,
    SECTIONS,
    VALUES,
    st.sampled_from(["user", "assistant", "system", "tool", "developer", None]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "string", "list"]),
)
NAMES = st.sampled_from(
    ["betas", "effort", "output_config", "thinking", "tool_choice", "prompt_cache_key", "citations"]
)


@given(st.lists(BLOCKS, max_size=5), st.lists(st.tuples(NAMES, VALUES), max_size=2))
def test_any_prompt_becomes_a_body_or_is_refused(blocks: list[Block], settings: list[tuple[str, str]]) -> None:
    """Traces come from anywhere."""
    for render in (messages_body, chat_body):
        try:
            made = render(Prompt.of(blocks), tuple(settings))
        except NoText:
            continue
        msgspec.json.encode(made.fields)
        assert all(isinstance(beta, str) for beta in made.betas)
