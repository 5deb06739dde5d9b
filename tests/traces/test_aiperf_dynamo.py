"""Traces of NVIDIA's tools: sessions whose turns add up, and requests as an engine measured them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.capacity import load, serve
from agentsim.core.session import Usage
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import aiperf, dynamo
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

SYSTEM = {"role": "system", "content": "Be brief. " * 50}
TURNS = jsonl(
    {"session_id": "s1", "timestamp": 0, "input_length": 600, "output_length": 40, "hash_ids": [1, 2]},
    {"session_id": "s2", "timestamp": 5, "input_length": 512, "output_length": 10, "hash_ids": [1]},
    {"session_id": "s1", "delay": 900, "input_length": 100, "output_length": 20, "hash_ids": [3]},
    {"timestamp": 20, "text_input": "word " * 40, "output_length": 3},
    {"timestamp": 30, "text_input": "word " * 60, "output_length": 3},
    {"timestamp": 40, "messages": [SYSTEM, {"role": "user", "content": "a"}], "output_length": 3},
    {"timestamp": 50, "payload": {"messages": [SYSTEM, {"role": "user", "content": "b"}]}, "output_length": 3},
)


def end(id, received, hashes, length, cached, **context):
    agent = {"session_id": "run", "trajectory_id": "run:main", **context}
    request = {"request_id": id, "model": "m", "input_tokens": length, "output_tokens": 5, "cached_tokens": cached}
    request |= {"request_received_ms": received, "ttft_ms": 80.5, "total_time_ms": 1000}
    if hashes is not None:
        request["replay"] = {"trace_block_size": 64, "input_length": length, "input_sequence_hashes": hashes}
    event = {"schema": "dynamo.agent.trace.v1", "event_type": "request_end", "event_time_unix_ms": received + 1001}
    return {"timestamp": received, "event": {**event, "agent_context": agent, "request": request}}


NOW = 1_777_312_800_000
TOOL = {"schema": "dynamo.agent.trace.v1", "event_type": "tool_end", "event_time_unix_ms": NOW, "tool": {}}
ENDS = jsonl(
    end("b", NOW + 5000, [2**63 + 1, 2**63 + 2, 7], 180, 128),
    {"timestamp": 1, "event": TOOL},
    end("a", NOW, [2**63 + 1, 2**63 + 2], 128, 0),
    end("c", NOW + 9000, None, 90, 0, trajectory_id="run:sub", parent_trajectory_id="run:main"),
    end("a", NOW, [2**63 + 1], 64, 0),
    end("d", NOW + 9000, None, 90, 91, session_id="other"),
    end("e", NOW + 9500, None, 90, 64, session_id="other"),
)


def name_of(path):
    found = detect(str(path))
    return None if found is None else found.name


def test_turns_add_up(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(TURNS)
    assert name_of(path) == "aiperf"
    (session,) = sound(list(aiperf.read_sessions([str(path)])))
    assert not session.problems
    by_id = {request.id: request for request in session.requests}
    first, other, second = by_id["#1"].prompt, by_id["#2"].prompt, by_id["#3"].prompt
    # The second turn sends the first, its reply of 40 tokens, and 100 of its own.
    assert [block.tokens for block in second] == [512, 88, 40, 100]
    assert second.common_length(first) == 2
    assert other.common_length(first) == 1
    assert by_id["#3"].parent == "#1"
    assert (by_id["#3"].start, by_id["#2"].start) == (None, 5 * 10**6)
    # 200 and 300 characters: three whole pieces of 64 are the same.
    texts = [by_id[name].prompt for name in ("#4", "#5")]
    assert [prompt.tokens for prompt in texts] == [50, 75]
    assert texts[1].common_length(texts[0]) == 3
    assert by_id["#7"].prompt.common_length(by_id["#6"].prompt) == 1


def test_requests_of_an_engine(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(ENDS)
    assert name_of(path) == "dynamo"
    run, other = sound(list(dynamo.read_sessions([str(path)])))
    assert (run.id, other.id) == ("run", "other")
    assert [(request.id, request.usage) for request in run.requests] == [
        ("a", Usage(fresh=128, read=0, output=5)),
        ("b", Usage(fresh=52, read=128, output=5)),
        ("c", Usage(fresh=90, read=0, output=5)),
    ]
    one, two, three = run.requests
    assert (one.start, one.first_token, one.end) == (NOW * 10**6, NOW * 10**6 + 80_500_000, (NOW + 1000) * 10**6)
    assert two.prompt.common_length(one.prompt) == 2
    assert [block.tokens for block in two.prompt] == [64, 64, 52]
    assert three.prompt is None
    assert {lane.id: (lane.purpose, lane.parent) for lane in run.lanes} == {
        "run:main": ("main", None),
        "run:sub": ("subagent", "run:main"),
    }
    assert run.accounting.skipped == (("bad counter", 1),)
    assert (run.accounting.rows, run.accounting.used, run.accounting.duplicate) == (6, 3, 1)
    assert (other.accounting.rows, other.accounting.used) == (1, 1)


def test_older_names(tmp_path):
    path = tmp_path / "x"
    context = {"session_id": None, "workflow_id": "w", "trajectory_id": None, "program_id": "w:p"}
    path.write_bytes(jsonl(end("a", NOW, None, 9, None, **context)["event"]))
    (session,) = sound(list(dynamo.read_sessions([str(path)])))
    assert (session.id, session.requests[0].lane) == ("w", "w:p")
    assert session.requests[0].usage == Usage(fresh=9, output=5)


def test_dynamo_is_served_in_its_own_blocks(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(ENDS)
    (trace,), _ = load([str(path)], [])
    served = serve(trace, rules_for("sglang", "", None), ())
    # The row that repeats request "a" is served: what came in twice was computed twice.
    assert (served.requests, served.shared) == (3, 64 + 128)


@pytest.mark.parametrize(("reader", "rows"), [(aiperf, TURNS), (dynamo, ENDS)], ids=["aiperf", "dynamo"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, reader, rows, damage):
    check_damaged(reader, tmp_path / "x.jsonl", damaged(rows, damage))
