"""The printed stream of Claude Code: a message is counted once, and placeholders are called what they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import stream_json
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

INIT = {"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "claude_code_version": "2.1.200"}


def message(id, fresh, read, write, output, stop=None, parent=None):
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
    }
    body = {
        "id": id,
        "model": "claude-opus-4-8",
        "role": "assistant",
        "stop_reason": stop,
        "usage": usage,
        "content": [],
    }
    return {"type": "assistant", "message": body, "session_id": "s1", "parent_tool_use_id": parent}


STREAM = (
    INIT,
    message("m1", 3, 0, 5_000, 1),
    message("m1", 3, 0, 5_000, 1),
    {"type": "user", "message": {"content": []}, "session_id": "s1"},
    message("s1", 3, 0, 900, 2, parent="toolu_1"),
    message("m2", 3, 5_000, 300, 40, stop="end_turn"),
    {"type": "system", "subtype": "compact_boundary", "session_id": "s1"},
    message("m3", 3, 0, 700, 8, stop="end_turn"),
    {"type": "result", "session_id": "s1", "usage": {"output_tokens": 480}, "total_cost_usd": 0.1},
)


def only(tmp_path, data):
    path = tmp_path / "out.json"
    path.write_bytes(data)
    (session,) = sound(list(stream_json.read_sessions([str(path)])))
    return session


@pytest.mark.parametrize("data", [jsonl(*STREAM), json.dumps(STREAM, indent=2).encode()], ids=["lines", "array"])
def test_a_message_is_counted_once(tmp_path, data):
    session = only(tmp_path, data)
    main = [request for request in session.requests if request.lane == "main"]
    assert [(request.id, request.parent) for request in main] == [("m1", None), ("m2", "m1"), ("m3", "m2")]
    assert main[1].usage == Usage(fresh=3, read=5_000, write_short=300, write_long=0, output=40)
    assert [lane.id for lane in session.lanes] == ["main", "subagent toolu_1"]
    assert (session.accounting.rows, session.accounting.duplicate) == (5, 1)
    assert [(event.kind, event.before) for event in session.events] == [("compaction", "m3")]
    assert (main[0].harness_version, main[0].start) == ("2.1.200", None)


def test_placeholders_are_told_with_the_sum(tmp_path):
    session = only(tmp_path, jsonl(*STREAM))
    assert {request.id: request.output_final for request in session.requests} == {
        "m1": False,
        "s1": False,
        "m2": True,
        "m3": True,
    }
    assert (
        session.problems[0].reason
        == "the output of 2 messages is a placeholder; 480 for the main conversation by the result"
    )


def test_the_line_with_the_greatest_output_is_kept_whole(tmp_path):
    session = only(tmp_path, jsonl(INIT, message("m1", 3, 0, 5_000, 1), message("m1", 4, 0, 4_999, 9, stop="end_turn")))
    (request,) = session.requests
    assert request.usage == Usage(fresh=4, read=0, write_short=4_999, write_long=0, output=9)


def test_it_is_told_from_other_formats(tmp_path):
    only(tmp_path, jsonl(*STREAM))
    found = detect(str(tmp_path / "out.json"))
    assert found is not None
    assert (found.name, found.verified) == ("claude-stream-json", False)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_lines(tmp_path, damage):
    check_damaged(stream_json, tmp_path / "s.jsonl", damaged(jsonl(*STREAM), damage))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_an_array(tmp_path, damage):
    check_damaged(stream_json, tmp_path / "s.json", damaged(json.dumps(STREAM).encode(), damage))


def test_the_small_public_sample(shared_data):
    path = shared_data / "claude-stream-json" / "claude-code-action__sample-turns.json"
    (session,) = sound(list(stream_json.read_sessions([str(path)])))
    assert [(request.usage.fresh, request.usage.read, request.usage.output) for request in session.requests] == [
        (100, 50, 75),
        (200, 100, 50),
        (150, 75, 80),
        (180, 90, 60),
    ]
