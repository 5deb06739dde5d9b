"""Whatever is said, the official clients read the streams of all three APIs as what was said."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.anthropic import messages_reply
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.openai import chat_reply, responses_reply
from agentsim.gateway.scripted_reply import ChatRequest, Dialect, Part, Say, ScriptedReply, Think, Use, tokens_of

httpx2 = pytest.importorskip("httpx2")
anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
NAME = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=3)
PARTS = st.lists(
    st.builds(Say, TEXT) | st.builds(Think, TEXT) | st.builds(Use, NAME, NAME, OBJECT), min_size=1, max_size=4
)
COUNTS = st.integers(0, 10**9)
USAGES = st.builds(Usage, fresh=COUNTS, write_short=COUNTS, write_long=COUNTS, read=COUNTS)
PACES = st.sampled_from([Pace(), Pace.of(0, 1000)])
"""At once, with large pieces; or paced, with small ones. Nothing sleeps here."""


def answer(parts: list[Part], usage: Usage, pace: Pace, dialect: Dialect) -> EmulatedAnswer:
    asked = ChatRequest(
        dialect=dialect,
        provider="anthropic",
        model="claude-sonnet-4-6",
        session="s",
        prompt=Prompt.of(()),
        settings=(),
        tools=(),
        turn=0,
        messages=1,
    )
    made = tuple(
        Use(f"call_{index}", part.tool, part.input) if isinstance(part, Use) else part
        for index, part in enumerate(parts)
    )
    tokens = tokens_of(made, asked.model)
    return EmulatedAnswer(
        id="msg_1",
        request_id="req_1",
        asked=asked,
        reply=ScriptedReply(made, "tool_use" if any(isinstance(part, Use) for part in parts) else "end_turn", tokens),
        usage=Usage(
            fresh=usage.fresh,
            write_short=usage.write_short,
            write_long=usage.write_long,
            read=usage.read,
            output=tokens,
        ),
        time=10**18,
        pace=pace,
    )


class Wire:
    """What the next request is answered with."""

    data = b""


@cache
def clients() -> tuple[Any, Any]:
    def handler(_request: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=Wire.data)

    transport = httpx2.MockTransport(handler)
    return (
        anthropic.Anthropic(api_key="x", http_client=httpx2.Client(transport=transport), max_retries=0),
        openai.OpenAI(api_key="x", http_client=httpx2.Client(transport=transport), max_retries=0),
    )


def wire(events: Any) -> bytes:
    """The bytes of a stream; its tokens never go backwards."""
    listed = list(events)
    tokens = [event.tokens for event in listed]
    assert tokens == sorted(tokens)
    return b"".join(event.data for event in listed)


def said(parts: list[Part], kind: type[Say] | type[Think]) -> str:
    return "".join(part.text for part in parts if isinstance(part, kind))


@given(PARTS, USAGES, PACES)
def test_messages(parts: list[Part], usage: Usage, pace: Pace) -> None:
    made = answer(parts, usage, pace, "messages")
    Wire.data = wire(messages_reply.events(made))
    with clients()[0].messages.stream(model="m", max_tokens=1, messages=[]) as stream:
        message = stream.get_final_message()
    whole = messages_reply.message(made)
    read = [block.model_dump(exclude_none=True) for block in message.content]
    assert [(b["type"], b.get("text"), b.get("thinking"), b.get("input"), b.get("name")) for b in read] == [
        (b["type"], b.get("text"), b.get("thinking"), b.get("input"), b.get("name")) for b in whole["content"]
    ]
    counters = message.usage
    assert counters.input_tokens == usage.fresh
    assert counters.cache_read_input_tokens == usage.read
    assert counters.cache_creation_input_tokens == (usage.write_short or 0) + (usage.write_long or 0)
    assert counters.output_tokens == made.reply.tokens
    assert message.stop_reason == made.reply.stop


@given(PARTS, USAGES, PACES)
def test_chat(parts: list[Part], usage: Usage, pace: Pace) -> None:
    made = answer(parts, usage, pace, "chat")
    Wire.data = wire(chat_reply.events(made, include_usage=True))
    with clients()[1].chat.completions.stream(model="m", messages=[]) as stream:
        completion = stream.get_final_completion()
    message = completion.choices[0].message
    whole = chat_reply.completion(made)
    assert (message.content or "") == said(parts, Say)
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert calls == [
        (call["function"]["name"], call["function"]["arguments"])
        for call in whole["choices"][0]["message"].get("tool_calls", ())
    ]
    assert completion.usage.model_dump(exclude_none=True) == whole["usage"]
    assert completion.choices[0].finish_reason == whole["choices"][0]["finish_reason"]


@given(PARTS, USAGES, PACES)
def test_responses(parts: list[Part], usage: Usage, pace: Pace) -> None:
    made = answer(parts, usage, pace, "responses")
    Wire.data = wire(responses_reply.events(made))
    text = ""
    with clients()[1].responses.stream(model="m", input="x") as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
        response = stream.get_final_response()
    assert text == said(parts, Say)
    whole = responses_reply.response(made)
    assert [item.type for item in response.output] == [item["type"] for item in whole["output"]]
    assert response.usage.input_tokens == whole["usage"]["input_tokens"]
    assert response.usage.output_tokens == made.reply.tokens


@pytest.mark.parametrize("render", [messages_reply.message, chat_reply.completion, responses_reply.response])
def test_an_empty_reply_can_be_rendered(render: Callable[[EmulatedAnswer], dict[str, Any]]) -> None:
    assert render(answer([], Usage(), Pace(), "messages"))["id"] == "msg_1"
