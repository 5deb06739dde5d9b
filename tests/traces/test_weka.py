"""Weka traces: whole blocks have ids, subagents count from their own beginning."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.simulate import scan
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import weka
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound


def row(t, length, ids, **fields):
    return {"t": t, "type": "n", "model": "m", "in": length, "out": 4, "hash_ids": ids, "api_time": 1.5, **fields}


TRACE = {
    "id": "trace_1",
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [
        row(0, 130, [1, 2]),
        {"t": 100.0, "type": "subagent", "agent_id": "a1", "requests": [row(0, 70, [9]), row(5, 128, [9, 10])]},
        row(120, 200, [1, 2, 3]),
        row(130, 999, [1]),
    ],
}


def only(path):
    (session,) = sound(list(weka.read_sessions([str(path)])))
    return session


def test_a_trace(tmp_path):
    path = tmp_path / "x"
    path.write_text(json.dumps(TRACE))
    found = detect(str(path))
    assert found is not None
    assert found.name == "weka-kv-trace"
    session = only(path)
    assert [(request.lane, request.start) for request in session.requests] == [
        ("main", 0),
        ("a1", 100 * 10**9),
        ("a1", 105 * 10**9),
        ("main", 120 * 10**9),
    ]
    assert [block.tokens for block in session.requests[0].prompt] == [64, 64, 2]
    # What follows the whole blocks is never the same as anything.
    assert session.requests[0].prompt.common_length(session.requests[3].prompt) == 2
    assert session.accounting.skipped == (("bad counter", 1),)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(weka, tmp_path / "x.json", damaged(json.dumps(TRACE).encode(), damage))


@pytest.mark.parametrize(
    ("name", "calls", "total", "rate"), [("0004", 215, 20_443_997, 0.963), ("0007", 12, None, 0.913)]
)
def test_real_traces(shared_data, name, calls, total, rate):
    session = only(shared_data / "weka-kv-trace" / f"kv-cache-tester__trace_{name}.json")
    assert len(session.requests) == calls
    sent = sum(request.prompt.tokens for request in session.requests)
    assert total is None or sent == total  # the trace's own sum over parent and subagents
    one_model = [request.prompt for request in session.requests]
    assert all(prompt is not None for prompt in one_model)
    rows = scan(session, EngineCache(rules_for("sglang", "", None)), price=False).rows
    assert abs(sum(row.usage.read or 0 for row in rows) / sent - rate) < 0.0006
