"""OpenAI's contract with breakpoints, as the official client meets it at the emulated endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from tests.agentsim.gateway.serving import WORDS, serving

pytestmark = pytest.mark.loopback
openai = pytest.importorskip("openai")

MODEL = "gpt-5.6-sol"
CLOSING = 2
"""Tokens behind the last message of every prompt."""

TOOL: dict[str, Any] = {"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": False}
CHAT_TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
SCRIPT = AnswerScript(
    turn=(ScriptedTurn(text="First.", call=(ScriptedToolCall("bash", {"command": "ls"}),)),), after="Over."
)
MARK = {"mode": "explicit"}


def numbers(usage: Any) -> tuple[int, int, int]:
    """Fresh, read and written, from the inclusive counters of either API."""
    if hasattr(usage, "input_tokens"):
        total, details = usage.input_tokens, usage.input_tokens_details
    else:
        total, details = usage.prompt_tokens, usage.prompt_tokens_details
    read, written = details.cached_tokens, details.cache_write_tokens
    return total - read - written, read, written


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_of_responses_reads_each_turn_in_the_next(tmp_path: Path, stream: bool) -> None:
    history: list[Any] = [{"role": "user", "content": "go"}]
    usages = []
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        for _ in range(2):
            body = {
                "model": MODEL,
                "instructions": WORDS,
                "input": history,
                "tools": [TOOL],
                "prompt_cache_key": "chat",
            }
            if stream:
                with client.responses.stream(**body) as events:
                    answer = events.get_final_response()
            else:
                answer = client.responses.create(**body)
            usages.append(answer.usage)
            history += [item.model_dump(exclude_none=True) for item in answer.output]
            history += [
                {"type": "function_call_output", "call_id": item.call_id, "output": "a file"}
                for item in answer.output
                if item.type == "function_call"
            ]
        assert answer.prompt_cache_options.mode == "implicit"
        assert (answer.prompt_cache_options.ttl, answer.prompt_cache_key) == ("30m", "chat")
    first, second = map(numbers, usages)
    assert first[:2] == (CLOSING, 0)
    assert second[:2] == (CLOSING, first[2]), "the whole prompt of the first turn is read, to the token"
    assert second[2] == usages[1].input_tokens - first[2] - CLOSING
    told = usages[1].input_tokens_details.cache_write_tokens_details
    assert (told.ttl_30m_tokens, told.ttl_12h_tokens) == (second[2], 0)
    session = served.sessions()[0]
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit"]
    assert dict(session.requests[0].settings)["prompt_cache_key"] == '"chat"'


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_of_chat_completions_does_the_same(tmp_path: Path, stream: bool) -> None:
    messages: list[Any] = [{"role": "developer", "content": WORDS}, {"role": "user", "content": "go"}]
    more: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    found = []
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        for reply in (
            [
                {
                    "role": "assistant",
                    "content": "First.",
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": "a file"},
            ],
            [],
        ):
            answer = client.chat.completions.create(
                model=MODEL, messages=messages, tools=[CHAT_TOOL], prompt_cache_key="chat", **more
            )
            usage = [chunk.usage for chunk in answer if chunk.usage][-1] if stream else answer.usage
            found.append(numbers(usage))
            messages += reply
    assert found[0][:2] == (CLOSING, 0)
    assert found[1][:2] == (CLOSING, found[0][2])


def test_explicit_breakpoints_cut_exactly(tmp_path: Path) -> None:
    def ask(client: Any, question: str, **more: Any) -> tuple[int, int, int]:
        system = [{"type": "input_text", "text": WORDS, "prompt_cache_breakpoint": MARK}]
        given = [{"role": "developer", "content": system}, {"role": "user", "content": question}]
        return numbers(client.responses.create(model=MODEL, input=given, prompt_cache_key="k", **more).usage)

    with serving(tmp_path) as served, served.openai() as client:
        first, second = ask(client, "one"), ask(client, "another question")
        assert first[:2] == (CLOSING, 0)
        assert second[0] == CLOSING
        assert second[1] > 1_024, "up to the mark"
        assert second[2] < 20, "the question, by the breakpoint that is set unasked"
        only = {"prompt_cache_options": {"mode": "explicit"}}
        third = ask(client, "yet another", **only)
        assert third[1:] == (second[1], 0)
        unmarked = client.responses.create(model=MODEL, input=WORDS, prompt_cache_key="k", **only).usage
        assert numbers(unmarked)[1:] == (0, 0)
    marks = [request.prompt.breakpoints for request in served.sessions()[0].requests if request.prompt is not None]
    assert [[(mark.position, mark.ttl) for mark in found] for found in marks] == [[(0, 1800)]] * 3 + [[]]


def test_twelve_hours_are_counted_apart(tmp_path: Path) -> None:
    part = {"type": "input_text", "text": WORDS, "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    given = [{"role": "developer", "content": [part]}, {"role": "user", "content": "one"}]
    with serving(tmp_path) as served, served.openai() as client:
        usage = client.responses.create(model=MODEL, input=given).usage
        told = usage.input_tokens_details.cache_write_tokens_details
        assert told.ttl_12h_tokens > 1_024
        assert told.ttl_30m_tokens + told.ttl_12h_tokens == usage.input_tokens_details.cache_write_tokens
        whole = client.responses.create(model=MODEL, input=WORDS, prompt_cache_options={"ttl": "12h"}).usage
        assert whole.input_tokens_details.cache_write_tokens_details.ttl_30m_tokens == 0


def test_a_part_of_a_tool_result_may_be_marked_and_one_of_the_assistant_is_ignored(tmp_path: Path) -> None:
    given = [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hm", "annotations": [], "prompt_cache_breakpoint": MARK}],
        },
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": WORDS, "prompt_cache_breakpoint": MARK},
                {"type": "input_text", "text": "tail"},
            ],
        },
    ]
    with serving(tmp_path) as served, served.openai() as client:
        client.responses.create(model=MODEL, input=given)
    prompt = served.sessions()[0].requests[0].prompt
    assert prompt is not None
    assert [mark.position for mark in prompt.breakpoints] == [3]
    assert [block.kind for block in prompt] == ["text", "text", "tool_use", "tool_result", "tool_result"]


def test_filling_the_cache_says_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.openai() as client:
        warm = client.responses.create(model=MODEL, input=WORDS, prompt_cache_options={"prewarm": True})
        assert (warm.output, warm.usage.output_tokens, warm.status) == ([], 0, "completed")
        assert numbers(client.responses.create(model=MODEL, input=WORDS).usage)[1] == numbers(warm.usage)[2]


def test_cache_diagnostics(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.openai() as client:

        def ask(before: str | None = None, **more: Any) -> Any:
            options = {} if before is None else {"prompt_cache_options": {"comparison_response_id": before}}
            return client.responses.create(**{"model": MODEL, "input": "go", "instructions": WORDS, **options, **more})

        first = ask()
        assert first.prompt_cache_diagnostics is None
        assert ask(first.id).prompt_cache_diagnostics.type == "cache_hit"
        missed = ask(first.id, instructions="other " + WORDS).prompt_cache_diagnostics
        assert (missed.type, missed.reason, missed.comparison_reusable_tokens) == ("cache_miss", "input_changed", 0)
        assert missed.cache_missed_tokens == first.usage.input_tokens - CLOSING

        def reason(**more: Any) -> str:
            return str(ask(first.id, **more).prompt_cache_diagnostics.reason)

        assert reason(model="gpt-6-sol") == "model_changed"
        assert reason(reasoning={"effort": "high"}) == "reasoning_effort_changed"
        assert reason(text={"verbosity": "low"}) == "verbosity_changed"
        assert reason(prompt_cache_key="k") == "prompt_cache_key_changed"
        assert reason(service_tier="priority") == "service_tier_changed"
        assert reason(tools=[TOOL]) == "tools_changed"
        assert reason(text={"format": {"type": "json_object"}}) == "text_format_changed"
        assert reason(input="else") == "input_changed"
        assert ask("resp_nobody").prompt_cache_diagnostics.type == "comparison_response_not_found"


@pytest.mark.parametrize(
    ("model", "body", "param", "code"),
    [
        ("gpt-5.5", {"prompt_cache_options": {"mode": "implicit"}}, "prompt_cache_options", "invalid_parameter"),
        ("gpt-5.5", {"prompt_cache_retention": "in_memory"}, "prompt_cache_retention", "invalid_value"),
        (MODEL, {"prompt_cache_retention": "in_memory"}, "prompt_cache_retention", "invalid_value"),
        (MODEL, {"prompt_cache_retention": "1h"}, "prompt_cache_retention", "invalid_value"),
        (MODEL, {"prompt_cache_options": {"mode": "auto"}}, "prompt_cache_options.mode", "invalid_value"),
        (MODEL, {"prompt_cache_options": {"ttl": "1h"}}, "prompt_cache_options.ttl", "invalid_value"),
        (MODEL, {"prompt_cache_key": "k" * 65}, "prompt_cache_key", "string_above_max_length"),
    ],
)
def test_what_a_model_refuses(tmp_path: Path, model: str, body: dict[str, Any], param: str, code: str) -> None:
    with serving(tmp_path) as served, served.openai() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=model, input="go", **body)
        assert (caught.value.param, caught.value.code) == (param, code)
        messages = [{"role": "user", "content": "go"}]
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=model, messages=messages, **body)
        assert (caught.value.param, caught.value.code) == (param, code)


def test_older_models_refuse_breakpoints_and_take_their_own_retention(tmp_path: Path) -> None:
    part = {"type": "input_text", "text": "go", "prompt_cache_breakpoint": MARK}
    with serving(tmp_path) as served, served.openai() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model="gpt-5.1", input=[{"role": "user", "content": [part]}])
        assert (caught.value.param, caught.value.code) == ("prompt_cache_breakpoint", "invalid_parameter")
        for retention in ("in_memory", "24h"):
            answer = client.responses.create(model="gpt-5.1", input="go", prompt_cache_retention=retention)
            assert answer.prompt_cache_retention == retention
        assert client.responses.create(model=MODEL, input="go", prompt_cache_retention="24h").status == "completed"


def test_chat_knows_the_shorter_lifetime_only(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.openai() as client:
        messages = [{"role": "user", "content": "go"}]
        client.chat.completions.create(model=MODEL, messages=messages, prompt_cache_options={"ttl": "30m"})
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=MODEL, messages=messages, prompt_cache_options={"ttl": "12h"})
        assert caught.value.param == "prompt_cache_options.ttl"


@pytest.mark.parametrize(
    ("marker", "place"),
    [
        ({"mode": "implicit"}, "mode"),
        ("explicit", "mode"),
        ({"mode": "explicit", "ttl": "soon"}, "ttl"),
        ({"mode": "explicit", "ttl": 30}, "ttl"),
    ],
)
def test_a_breakpoint_that_is_none(tmp_path: Path, marker: Any, place: str) -> None:
    part = {"type": "input_text", "text": "go", "prompt_cache_breakpoint": marker}
    with serving(tmp_path) as served, served.openai() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input=[{"role": "user", "content": [part]}])
        assert caught.value.param == f"input[0].content[0].prompt_cache_breakpoint.{place}"


def test_tools_may_be_offered_in_the_history(tmp_path: Path) -> None:
    script = AnswerScript(turn=(ScriptedTurn(call=(ScriptedToolCall("exec", "text('hi')"),)),), after="Over.")
    tools = [
        {"type": "namespace", "name": "functions", "description": "", "tools": [{"type": "custom", "name": "exec"}]},
        {"type": "function", "name": "other", "parameters": {}, "strict": False},
    ]
    given = [{"role": "user", "content": WORDS}, {"type": "additional_tools", "role": "developer", "tools": tools}]
    with serving(tmp_path, replier=script) as served, served.openai() as client:
        answer = client.responses.create(model=MODEL, input=given)
        assert [(item.type, item.name, item.input) for item in answer.output] == [
            ("custom_tool_call", "exec", "text('hi')")
        ]
        fresh, _, written = numbers(answer.usage)
    prompt = served.sessions()[0].requests[0].prompt
    assert prompt is not None
    assert written == prompt.tokens_until(1), "the breakpoint stands behind the user's message, not behind the tools"
    assert fresh == prompt.tokens - prompt.tokens_until(1) + CLOSING
