"""The official Anthropic client against the emulated endpoint: what it is billed, told and refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from agentsim.diagnose import diagnose
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn
from agentsim.gateway.injected_faults import Faults, parse_faults
from tests.agentsim.gateway.serving import BASH, MODEL, WORDS, serving

pytestmark = pytest.mark.loopback
anthropic = pytest.importorskip("anthropic")

FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, marker: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({} if marker is None else {"cache_control": marker})


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def ask(client: Any, **more: Any) -> Any:
    body = {"model": MODEL, "max_tokens": 1000, "messages": [user(text("go"))]} | more
    return client.messages.create(**body)


def parts(usage: Any) -> tuple[int, int, int, int]:
    """Written for five minutes, for an hour, read, fresh."""
    written = usage.cache_creation
    assert written.ephemeral_5m_input_tokens + written.ephemeral_1h_input_tokens == usage.cache_creation_input_tokens
    return (
        written.ephemeral_5m_input_tokens,
        written.ephemeral_1h_input_tokens,
        usage.cache_read_input_tokens,
        usage.input_tokens,
    )


def test_a_marked_system_text_is_written_once_and_then_read(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        size = client.messages.count_tokens(model=MODEL, messages=[user(text("go"))]).input_tokens
        whole = client.messages.count_tokens(
            model=MODEL, messages=[user(text("go"))], system=[text(WORDS)]
        ).input_tokens
        first = ask(client, system=[text(WORDS, FIVE)]).usage
        second = ask(client, system=[text(WORDS, FIVE)]).usage
    head = whole - size
    assert head > 1024, "the model's minimum"
    assert parts(first) == (head, 0, 0, size)
    assert parts(second) == (0, 0, head, size)


def test_lifetimes_are_billed_apart(tmp_path: Path) -> None:
    messages = [user(text(WORDS), text("go", FIVE))]
    with serving(tmp_path) as served, served.anthropic() as client:
        whole = client.messages.count_tokens(model=MODEL, messages=messages, system=[text(WORDS)]).input_tokens
        last = client.messages.count_tokens(model=MODEL, messages=messages).input_tokens
        first = ask(client, system=[text(WORDS, HOUR)], messages=messages).usage
    assert parts(first) == (last, whole - last, 0, 0)


def test_what_is_below_the_minimum_is_not_cached_and_no_error(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        for _ in range(2):
            written_5m, written_1h, read, fresh = parts(ask(client, system=[text("short", FIVE)]).usage)
            assert (written_5m, written_1h, read) == (0, 0, 0)
            assert fresh > 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_scripted_tool_loop(tmp_path: Path, stream: bool) -> None:
    """Each turn writes what is new and reads the rest: the sums of a lane are exact."""
    script = AnswerScript(
        turn=(
            ScriptedTurn(
                thinking="Let me see.",
                text="First.",
                call=(ScriptedToolCall("Bash", {"command": "ls"}), ScriptedToolCall("Grep", {})),
            ),
            ScriptedTurn(call=(ScriptedToolCall("Bash", {"command": "say ${heard}"}),)),
        ),
        after="Over.",
    )
    messages: list[Any] = [user(text("go", FIVE))]
    usages = []
    with serving(tmp_path, replier=script) as served, served.anthropic() as client:
        for _ in range(3):
            body = {"model": MODEL, "max_tokens": 1000, "tools": [BASH], "system": [text(WORDS)], "messages": messages}
            if stream:
                with client.messages.stream(**body) as events:
                    message = events.get_final_message()
            else:
                message = client.messages.create(**body)
            usages.append(parts(message.usage))
            said = [block.model_dump(exclude_none=True) for block in message.content]
            for block in messages[-1]["content"]:
                block.pop("cache_control", None)
            messages.append({"role": "assistant", "content": [_sendable(block) for block in said]})
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": f"result {len(messages)}"}
                for block in said
                if block["type"] == "tool_use"
            ]
            if not results:
                assert message.stop_reason == "end_turn"
                break
            assert message.stop_reason == "tool_use"
            results[-1]["cache_control"] = FIVE
            messages.append({"role": "user", "content": results})
    kinds = [[block["type"] for block in message["content"]] for message in messages if message["role"] == "assistant"]
    assert kinds == [["thinking", "text", "tool_use"], ["tool_use"], ["text"]], "Grep is not offered"
    assert messages[3]["content"][0]["input"] == {"command": "say result 2"}
    assert messages[5]["content"][0]["text"] == "Over."
    for before, after in itertools.pairwise(usages):
        assert after[2] == before[0] + before[2], "it reads all that the turn before wrote and read"
        assert after[0] > 0
        assert after[3] == 0
    session = served.sessions()[0]
    assert [request.parent for request in session.requests] == [None, *(r.id for r in session.requests[:-1])]
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit"]


def _sendable(block: dict[str, Any]) -> dict[str, Any]:
    known = ("type", "text", "thinking", "signature", "id", "name", "input")
    return {name: value for name, value in block.items() if name in known}


def test_the_provider_says_what_differs(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        base = {"system": [text(WORDS, FIVE)], "tools": [BASH]}
        first = ask(client, **base, diagnostics={"previous_message_id": None})
        assert first.diagnostics is None

        def reason(**more: Any) -> Any:
            answer = ask(client, **{**base, **more}, diagnostics={"previous_message_id": first.id})
            return None if answer.diagnostics is None else answer.diagnostics.cache_miss_reason

        assert reason() is None
        assert reason(system=[text("x" + WORDS, FIVE)]).type == "system_changed"
        changed = reason(tools=[{**BASH, "description": "Other."}])
        assert changed.type == "tools_changed"
        assert changed.cache_missed_input_tokens > 1024, "all of the system text at least"
        assert reason(messages=[user(text("other"))]).type == "messages_changed"
        assert reason(model="claude-opus-5-5").type == "model_changed"
        assert reason(tool_choice={"type": "any"}).type == "unavailable"
        lost = ask(client, **base, diagnostics={"previous_message_id": "msg_nobody"})
        assert lost.diagnostics.cache_miss_reason.type == "previous_message_not_found"
        assert "diagnostics" not in ask(client, **base).to_dict()
    recorded = [request.diagnosis.reason for request in served.sessions()[0].requests]
    assert recorded[:4] == [None, None, "system_changed", "tools_changed"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "five breakpoints": ({"system": [text(f"{n}", FIVE) for n in range(5)]}, "5 breakpoints"),
    "short before long": ({"system": [text("a", FIVE), text("b", HOUR)]}, "lifetime"),
    "marker on an empty text": ({"system": [text("", FIVE)]}, "system[0].cache_control"),
    "marker on thinking": (
        {
            "messages": [
                user(text("go")),
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "a", "signature": "b", "cache_control": FIVE}],
                },
                user(text("on")),
            ]
        },
        "messages[1].content[0].cache_control",
    ),
    "deferred tool with a marker": (
        {"tools": [BASH, {**BASH, "name": "Other", "defer_loading": True, "cache_control": FIVE}]},
        "tools[1].cache_control",
    ),
    "unknown lifetime": ({"system": [text("a", {"type": "ephemeral", "ttl": "2h"})]}, "system[0].cache_control.ttl"),
    "unknown kind of marker": ({"system": [text("a", {"type": "forever"})]}, "system[0].cache_control.type"),
    "no message": ({"messages": []}, "messages"),
    "negative length": ({"max_tokens": -1}, "max_tokens"),
    "a tool result without its call": (
        {"messages": [user({"type": "tool_result", "tool_use_id": "x", "content": "y"})]},
        "messages[0]",
    ),
    "a call without its result": (
        {
            "messages": [
                user(text("go")),
                {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "Bash", "input": {}}]},
                user(text("on")),
            ]
        },
        "messages[2]",
    ),
    "automatic caching against a marker": (
        {"messages": [user(text("go", HOUR))], "cache_control": FIVE},
        "cache_control.ttl",
    ),
    "automatic caching as the fifth": (
        {"system": [text(f"{n}", FIVE) for n in range(4)], "cache_control": FIVE},
        "5 breakpoints",
    ),
    "nothing but deferred tools": ({"tools": [BASH | {"defer_loading": True}]}, "tools"),
    "no output, and a tool that has to be called": (
        {"max_tokens": 0, "tools": [BASH], "tool_choice": {"type": "any"}},
        "max_tokens",
    ),
    "no output, and this tool has to be called": (
        {"max_tokens": 0, "tools": [BASH], "tool_choice": {"type": "tool", "name": "Bash"}},
        "max_tokens",
    ),
    "no output, in a format": (
        {"max_tokens": 0, "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        "max_tokens",
    ),
    "no output, thinking on a budget": (
        {"max_tokens": 0, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        "thinking.budget_tokens",
    ),
    "small thinking": ({"thinking": {"type": "enabled", "budget_tokens": 10}}, "thinking.budget_tokens"),
    "thinking beyond the reply": ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, "thinking.budget_tokens"),
}


def test_what_the_provider_refuses_is_refused_and_leaves_no_trace_in_the_cache(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        for name, (body, place) in REFUSED.items():
            with pytest.raises(anthropic.BadRequestError) as caught:
                ask(client, **body)
            error = caught.value.response.json()["error"]
            assert error["type"] == "invalid_request_error", name
            assert place in error["message"], name
        assert parts(ask(client, system=[text(WORDS, FIVE)]).usage)[2] == 0
    assert len(served.sessions()[0].requests) == 1


def test_no_output_fills_the_cache_and_cannot_be_streamed(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        warmed = ask(client, max_tokens=0, system=[text(WORDS, FIVE)])
        with pytest.raises(anthropic.BadRequestError):
            ask(client, max_tokens=0, stream=True)
        read = parts(ask(client, system=[text(WORDS, FIVE)]).usage)[2]
    written = parts(warmed.usage)[0]
    assert (warmed.content, warmed.stop_reason, warmed.usage.output_tokens) == ([], "max_tokens", 0)
    assert read == written > 1024


def test_injected_errors_are_retried_by_the_client_and_told_in_the_trace(tmp_path: Path) -> None:
    faults = Faults(parse_faults(["529@2x2"]), retry_after=0)
    with serving(tmp_path, faults=faults) as served:
        with served.anthropic() as client:
            ask(client, system=[text(WORDS, FIVE)])
            with pytest.raises(anthropic.APIStatusError) as caught:
                ask(client, system=[text(WORDS, FIVE)])
            assert caught.value.status_code == 529
            assert caught.value.response.headers["retry-after"] == "0"
            assert caught.value.response.json()["error"]["type"] == "overloaded_error"
        with served.anthropic(max_retries=2) as client:
            assert ask(client, system=[text(WORDS, FIVE)]).usage.cache_read_input_tokens > 0
    session = served.sessions()[0]
    assert [event.detail for event in session.events] == ["HTTP 529 /v1/messages: overloaded (injected)"] * 2
    assert len(session.requests) == 2


def test_rate_limits_say_when_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path, faults=Faults(parse_faults(["429/1"]), retry_after=7)) as served:
        with served.anthropic() as client, pytest.raises(anthropic.RateLimitError) as caught:
            ask(client)
        assert caught.value.response.headers["retry-after"] == "7"


def test_a_real_pace_is_kept_and_recorded(tmp_path: Path) -> None:
    import time

    script = AnswerScript(after="word " * 40)
    with serving(tmp_path, replier=script, pace=Pace.of(100, 400)) as served, served.anthropic() as client:
        begun = time.monotonic()
        first = None
        with client.messages.stream(model=MODEL, max_tokens=500, messages=[user(text("go"))]) as events:
            for _ in events.text_stream:
                first = first or time.monotonic() - begun
            output = events.get_final_message().usage.output_tokens
        took = time.monotonic() - begun
    assert first is not None
    assert first >= 0.1
    assert took >= 0.1 + (output - 1) / 400
    request = served.sessions()[0].requests[0]
    assert request.start is not None
    assert request.first_token == request.start + 100_000_000
    assert request.end == request.start + 100_000_000 + (output - 1) * 2_500_000


def test_a_pause_outlives_an_entry_and_nobody_waits(tmp_path: Path) -> None:
    script = AnswerScript(
        turn=(ScriptedTurn(text="a", pause=299), ScriptedTurn(text="b", pause=301), ScriptedTurn(text="c"))
    )
    system = [text(WORDS, FIVE)]
    reads = []
    with serving(tmp_path, replier=script) as served, served.anthropic() as client:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        for _ in range(3):
            answer = ask(client, system=system, messages=messages)
            reads.append(answer.usage.cache_read_input_tokens > 0)
            said = {"role": "assistant", "content": answer.content[0].text}
            messages = [*messages, said, {"role": "user", "content": "on"}]
    assert reads == [False, True, False]
    verdicts = diagnose(served.sessions()[0]).verdicts
    assert [verdict.cause for verdict in verdicts] == [None, None, "AS201"], "the five-minute entry expired"


def test_a_reply_stops_at_max_tokens(tmp_path: Path) -> None:
    with serving(tmp_path, replier=AnswerScript(after="word " * 500)) as served, served.anthropic() as client:
        answer = ask(client, max_tokens=10)
        assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 10)
        warmed = ask(client, max_tokens=0, system=[text(WORDS, FIVE)])
        assert (warmed.content, warmed.stop_reason, warmed.usage.output_tokens) == ([], "max_tokens", 0)
        assert ask(client, system=[text(WORDS, FIVE)]).usage.cache_read_input_tokens > 0, "warmed ahead"


def test_betas_models_and_sessions(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        assert MODEL in [model.id for model in client.models.list()]
        answer = client.beta.messages.create(
            model=MODEL, max_tokens=10, messages=[user(text("go"))], betas=["context-management-2025-06-27"]
        )
        assert answer.id.startswith("msg_")
        ask(client, extra_headers={"x-claude-code-session-id": "one"})
        ask(client, metadata={"user_id": "user_1_account_2_session_two"})
    sessions = served.sessions()
    assert [session.id for session in sessions] == ["session", "one", "two"]
    assert dict(sessions[0].requests[0].settings)["betas"] == '["context-management-2025-06-27"]'
    assert [len(session.requests) for session in sessions] == [1, 1, 1]
    assert not list(tmp_path.glob("trace.*.jsonl")), "one file in the end"
