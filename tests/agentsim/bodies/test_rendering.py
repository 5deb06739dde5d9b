"""Bodies made of prompts: read again, they are the same prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.bodies import MessagesReader
from agentsim.bodies.parts import NoText
from agentsim.bodies.rendering import chat_body, messages_body
from agentsim.session import Request
from traces.formats import read

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
