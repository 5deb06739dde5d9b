"""The official OpenAI client against the emulated endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from agentsim.gateway.injected_faults import Faults, parse_faults
from tests.agentsim.gateway.serving import WORDS, serving

pytestmark = pytest.mark.loopback
openai = pytest.importorskip("openai")

MODEL = "gpt-5.1"
CHAT_TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
TOOL: dict[str, Any] = {"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": False}
SCRIPT = AnswerScript(
    turn=(ScriptedTurn(thinking="Hm.", text="First.", call=(ScriptedToolCall("bash", {"command": "ls"}),)),),
    after="Over.",
)


def read_of(tokens: int) -> int:
    """What is read of so many tokens: whole multiples of 128, from 1,024 on."""
    return tokens // 128 * 128 if tokens >= 1024 else 0


def test_chat_reads_the_longest_prefix_in_steps_of_128(tmp_path: Path) -> None:
    system = {"role": "system", "content": WORDS}
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:

        def ask(*messages: dict[str, Any], **more: Any) -> Any:
            return client.chat.completions.create(model=MODEL, messages=[system, *messages], **more)

        first = ask({"role": "user", "content": "go"}, tools=[CHAT_TOOL])
        assert first.usage.prompt_tokens_details.cached_tokens == 0
        message = first.choices[0].message
        assert (message.content, first.choices[0].finish_reason) == ("First.", "tool_calls")
        call = message.tool_calls[0]
        assert (call.function.name, call.function.arguments) == ("bash", '{"command":"ls"}')
        second = ask(
            {"role": "user", "content": "go"},
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "a file"},
            tools=[CHAT_TOOL],
        )
        assert second.choices[0].message.content == "Over."
        assert second.usage.prompt_tokens_details.cached_tokens == read_of(first.usage.prompt_tokens)
        assert second.usage.total_tokens == second.usage.prompt_tokens + second.usage.completion_tokens
        other = ask({"role": "user", "content": "else"}, tools=[])
        assert other.usage.prompt_tokens_details.cached_tokens == 0, "the tools stand in front"
    requests = served.sessions()[0].requests
    assert requests[1].parent == requests[0].id
    assert requests[1].usage is not None
    assert requests[1].usage.total_input == second.usage.prompt_tokens


def test_a_streamed_chat_is_the_whole_one_in_pieces(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": WORDS}]
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        whole = client.chat.completions.create(model=MODEL, messages=messages, tools=[CHAT_TOOL])
        text, arguments, stop, usage = "", "", None, None
        for chunk in client.chat.completions.create(
            model=MODEL, messages=messages, tools=[CHAT_TOOL], stream=True, stream_options={"include_usage": True}
        ):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    arguments += call.function.arguments or ""
                stop = choice.finish_reason or stop
            usage = chunk.usage or usage
        plain = client.chat.completions.create(model=MODEL, messages=messages, stream=True)
        assert all(chunk.usage is None for chunk in plain)
    assert usage is not None
    assert (text, stop) == ("First.", "tool_calls")
    assert arguments == whole.choices[0].message.tool_calls[0].function.arguments
    assert usage.prompt_tokens == whole.usage.prompt_tokens
    assert usage.prompt_tokens_details.cached_tokens == read_of(usage.prompt_tokens)


@pytest.mark.parametrize("stream", [False, True])
def test_responses(tmp_path: Path, stream: bool) -> None:
    history: list[Any] = [{"role": "user", "content": "go"}]
    usages = []
    with serving(tmp_path, replier=SCRIPT) as served, served.openai() as client:
        for _ in range(2):
            body = {"model": MODEL, "instructions": WORDS, "input": history, "tools": [TOOL]}
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
    assert answer.output_text == "Over."
    assert [item["type"] for item in history if "type" in item] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert usages[0].input_tokens_details.cached_tokens == 0
    assert usages[1].input_tokens_details.cached_tokens == read_of(usages[0].input_tokens)
    assert usages[0].output_tokens_details.reasoning_tokens > 0


def test_a_lost_prefix_is_judged_with_its_place(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.openai() as client:
        for day in ("Monday", "Monday", "Tuesday"):
            system = {"role": "system", "content": f"Today is {day}. {WORDS}"}
            client.chat.completions.create(model=MODEL, messages=[system, {"role": "user", "content": "go"}])
    verdicts = diagnose(served.sessions()[0]).verdicts
    assert [verdict.kind for verdict in verdicts] == ["first", "hit", "miss"]
    assert verdicts[2].place is not None
    assert verdicts[2].place.address == "system[0]"
    assert verdicts[2].lost_cost is not None
    assert verdicts[2].lost_cost > 0


def test_a_free_form_tool_gets_text(tmp_path: Path) -> None:
    script = AnswerScript(turn=(ScriptedTurn(call=(ScriptedToolCall("apply_patch", "*** Begin"),)),))
    tool = {"type": "custom", "name": "apply_patch"}
    with serving(tmp_path, replier=script) as served, served.openai() as client:
        whole = client.responses.create(model=MODEL, input="go", tools=[tool])
        with client.responses.stream(model=MODEL, input="go", tools=[tool]) as events:
            streamed = events.get_final_response()
    for answer in (whole, streamed):
        assert [(item.type, item.name, item.input) for item in answer.output] == [
            ("custom_tool_call", "apply_patch", "*** Begin")
        ]


def test_errors_have_the_shape_that_the_client_knows(tmp_path: Path) -> None:
    with serving(tmp_path, faults=Faults(parse_faults(["429@1"]), 3)) as served, served.openai() as client:
        with pytest.raises(openai.RateLimitError) as limited:
            client.responses.create(model=MODEL, input="go")
        assert limited.value.response.headers["retry-after"] == "3"
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=MODEL, messages=[])
        assert caught.value.param == "messages"
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(model=MODEL, input="go", previous_response_id="resp_1")
        assert caught.value.param == "previous_response_id"
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model=MODEL, input=[3])
        assert client.responses.create(model=MODEL, input="go").status == "completed"
        short = client.responses.create(model=MODEL, input="go", max_output_tokens=2)
        assert (short.status, short.incomplete_details.reason) == ("incomplete", "max_output_tokens")
