"""OpenHands: whole requests to Claude become prompts, others rows, and the state's sums are the same rows."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow
from agentsim.diagnose import diagnose
from agentsim.traces.chat_bodies import messages_body
from agentsim.traces.format_registry import detect, read
from agentsim.traces.readers import openhands
from agentsim.traces.readers.openhands import unix_seconds
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

T0 = 1_790_000_000
TOOLS = [{"type": "function", "function": {"name": "run", "description": "d", "parameters": {"type": "object"}}}]


def text(words, marked=False):
    block = {"type": "text", "text": words}
    return {**block, "cache_control": {"type": "ephemeral"}} if marked else block


def completion(number, whole, read, write, model="litellm_proxy/claude-sonnet-4-20250514", marked=True):
    messages = [
        {"role": "system", "content": [text("You are an agent.", marked)]},
        {"role": "user", "content": [text("go")]},
    ]
    for turn in range(number):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "run", "arguments": '{"x": 1}'}}
        messages.append({"role": "assistant", "content": [text(f"step {turn}")], "tool_calls": [call]})
        last = marked and turn == number - 1
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": [text(f"done {turn}", last)]})
    usage = {
        "prompt_tokens": whole,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": read},
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
    }
    return {
        "messages": messages,
        "tools": TOOLS,
        "kwargs": {},
        "response": {"id": f"r{number}", "model": model, "usage": usage},
        "cost": 0.1,
        "timestamp": T0 + 10 * number + 0.5,
        "latency_sec": 2.5,
    }


CALLS = (completion(0, 2_000, 0, 1_990), completion(1, 2_300, 1_990, 300), completion(2, 2_600, 2_290, 300))


def sessions(tmp_path, data, name="log.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return sound(list(openhands.read_sessions([str(path)])))


def test_a_completion_is_a_request_with_its_prompt(tmp_path):
    (session,) = sessions(tmp_path, jsonl(*CALLS))
    first, second, third = session.requests
    assert (session.completeness, first.provider, first.model) == ("messages", "anthropic", "claude-sonnet-4-20250514")
    assert first.settings == ()  # what a program meant to send is not what went over the wire
    assert second.usage is not None
    assert (second.usage.fresh, second.usage.read, second.usage.write) == (10, 1_990, 300)
    assert second.prompt is not None
    # One tool, one block of system text, "go", "step 0", the call and its result.
    assert [block.kind for block in second.prompt] == ["tool", "text", "text", "text", "tool_use", "tool_result"]
    assert second.prompt.tokens == 2_300
    assert (first.start, first.end) == (int((T0 - 2) * 1e9), int((T0 + 0.5) * 1e9))
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit"]
    assert third.parent == "r1"


def test_files_of_one_call_in_a_folder_are_one_session(tmp_path):
    folder = tmp_path / "completions"
    folder.mkdir()
    for number, call in enumerate(CALLS):
        (folder / f"{number}.json").write_text(json.dumps(call, indent=2))
    (session,) = sound(list(read([str(tmp_path)])))
    assert (session.id, len(session.requests)) == ("completions", 3)


def test_a_prompt_without_a_marker_is_implied_to_be_uncached(tmp_path):
    (session,) = sessions(tmp_path, jsonl(completion(0, 2_000, 0, 0, marked=False)))
    (verdict,) = diagnose(session).verdicts
    assert (verdict.cause, verdict.evidence) == ("AS305", "implied")


def test_other_models_become_rows(tmp_path):
    (session,) = sessions(tmp_path, jsonl(completion(0, 2_000, 1_024, None, model="openai/gpt-5.5")))
    assert (session.completeness, session.requests[0].provider) == ("usage", "openai")
    assert session.requests[0].usage == Usage(fresh=976, read=1_024, write_other=None, output=20)


@pytest.mark.parametrize("model", ["claude-sonnet-4", "gpt-5.5"])
def test_more_cached_than_sent_costs_the_row(tmp_path, model):
    odd = completion(1, 1_000, 900, 101, model=model)
    (session,) = sessions(tmp_path, jsonl(completion(0, 2_000, 0, 0, model=model), odd))
    assert session.accounting.skipped == (("bad counter", 1),)


def test_the_state_holds_rows_by_purpose(tmp_path):
    def usage(id, whole, read):
        return {"model": "claude-opus-4-8", "prompt_tokens": whole, "completion_tokens": 9, "cache_read_tokens": read,
                "cache_write_tokens": 100, "response_id": id}  # fmt: skip

    agent = {
        "token_usages": [usage("a", 2_000, 0), usage("b", 2_200, 2_000)],
        "costs": [{"cost": 1, "timestamp": T0 + 5.0}, {"cost": 1, "timestamp": T0 + 15.0}],
        "response_latencies": [{"latency": 2.0, "response_id": "a"}, {"latency": 3.0, "response_id": "b"}],
    }
    condenser = {"token_usages": [usage("c", 500, 0)]}
    state = {"id": "conv", "stats": {"usage_to_metrics": {"agent": agent, "condenser": condenser}}}
    (session,) = sessions(tmp_path, json.dumps(state).encode(), "base_state.json")
    assert [(request.id, request.lane) for request in session.requests] == [
        ("a", "agent"),
        ("b", "agent"),
        ("c", "condenser"),
    ]
    assert session.requests[1].usage == Usage(fresh=100, read=2_000, write_other=100, output=9)
    assert session.requests[0].start == (T0 + 3) * 10**9
    assert session.requests[2].start is None


def test_it_is_told_from_other_formats(tmp_path):
    path = tmp_path / "x"
    long = completion(0, 2_000, 0, 0)
    long["messages"][1]["content"][0]["text"] = "x" * 200_000  # what tells the format comes late
    path.write_bytes(jsonl(long))
    found = detect(str(path))
    assert found is not None
    assert found.name == "openhands"


def test_a_translated_body_is_a_messages_body():
    body = json.loads(messages_body(CALLS[1], "m"))
    assert body["system"] == [text("You are an agent.", marked=True)]
    assert body["tools"] == [{"name": "run", "description": "d", "input_schema": {"type": "object"}}]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    result = body["messages"][2]["content"][0]
    # The marker moves from the text inside to the result as a whole.
    assert (result["tool_use_id"], result["cache_control"]) == ("c0", {"type": "ephemeral"})
    assert result["content"] == [text("done 0")]
    assert body["messages"][1]["content"][1]["input"] == {"x": 1}
    with pytest.raises(BadRow):
        messages_body({"messages": ["x"]}, "m")


@pytest.mark.parametrize(("number", "value"), [(b"2.5", 2_500_000_000), (b'"x"', None), (b"NaN", None), (b"-1", None)])
def test_durations(number, value):
    assert unix_seconds(number) == value


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_completions(tmp_path, damage):
    check_damaged(openhands, tmp_path / "log.jsonl", damaged(jsonl(*CALLS), damage))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_one_call(tmp_path, damage):
    data = json.dumps({**CALLS[1], "response": {**CALLS[1]["response"], "model": "gpt-5.5"}}, indent=1).encode()
    check_damaged(openhands, tmp_path / "call.json", damaged(data, damage))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_a_state(tmp_path, damage):
    usage = {"model": "m", "prompt_tokens": 9, "completion_tokens": 1, "cache_read_tokens": 3, "response_id": "r"}
    state = {"m": {"token_usages": [usage], "costs": [{"timestamp": 1.5}], "response_latencies": [{"latency": 1}]}}
    check_damaged(openhands, tmp_path / "base_state.json", damaged(json.dumps(state).encode(), damage))


def test_a_real_run_without_markers(shared_data):
    path = shared_data / "openhands-llm-log" / "openhands-sdk__sonnet4-no-cache-control.jsonl"
    (session,) = sound(list(openhands.read_sessions([str(path)])))
    found = diagnose(session)
    assert (found.totals.requests, found.totals.fresh, found.totals.read, found.totals.written) == (6, 35_428, 0, 0)
    assert {(verdict.cause, verdict.evidence) for verdict in found.verdicts} == {("AS305", "implied")}
