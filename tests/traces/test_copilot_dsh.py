"""Event logs of the Copilot CLI (output only) and traces of the DeepSeek harness (everything but writes)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import copilot, dsh
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

T0 = 1_790_000_000_000


def event(kind, second, **data):
    at = f"2026-09-01T10:00:{second:02}.000Z"
    return {"type": kind, "data": data, "id": f"e{second}{kind}", "timestamp": at, "parentId": None}


COPILOT = (
    event("session.start", 0, sessionId="s1", producer="copilot-agent", copilotVersion="1.0.64"),
    event("session.model_change", 1, newModel="claude-sonnet-4.6", reasoningEffort="medium"),
    event("user.message", 2, content="go"),
    event("assistant.turn_start", 3, turnId="0"),
    event("assistant.message", 6, messageId="m1", model="claude-sonnet-4.6", outputTokens=50, apiCallId="a1"),
    event("tool.execution_complete", 9, success=True),
    event("assistant.message", 12, messageId="m2", outputTokens=60, apiCallId="a2"),
    event("assistant.message", 15, messageId="m3", outputTokens=7, apiCallId="a3", parentToolCallId="t"),
)
SUMS = {"inputTokens": 9_000, "outputTokens": 117, "cacheReadTokens": 7_000, "cacheWriteTokens": 0}


def row(kind, seq, at, **data):
    return {"type": kind, "seq": seq, "time": T0 + at, "data": data}


def header(seq, at, tools="[1]", effort="high"):
    config = {"provider": "deepseek-official", "model": "deepseek-v4-flash", "reasoningEffort": effort}
    return row("request/header", seq, at, header={"config": config, "system": "s", "tools": tools}, reason="initial")


def step(seq, at, fresh, read, output=9, twice=True, **more):
    usage = {"inputTokens": fresh, "outputTokens": output, "cacheReadTokens": read, "reasoningTokens": 1, **more}
    rows = [
        row("step/start", seq, at),
        row("assistant/chunk", seq + 1, at + 300, chunk={"type": "block-start", "index": 0}),
        {"type": "text-chunks", "seq0": seq + 2, "time0": at + 310, "data": {"dt": [1], "texts": ["x"]}},
        row("assistant/message", seq + 4, at + 900, message={"role": "assistant"}, usage=usage),
    ]
    if twice:
        rows.insert(3, row("assistant/chunk", seq + 3, at + 890, chunk={"type": "usage", "usage": usage}))
    return rows


def dsh_trace(**session):
    return (
        {"type": "session", "version": 0, "id": "d1", "createdAt": T0, "cwd": "/w", **session},
        row("turn/start", 0, 0),
        header(1, 5),
        *step(10, 10, 7_893, 0),
        *step(20, 2_000, 363, 8_064, twice=False),
        header(30, 3_000, tools="[1,2]"),
        *step(31, 3_010, 156, 8_448),
    )


def read(reader, tmp_path, *rows):
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl(*rows))
    (session,) = sound(list(reader.read_sessions([str(path)])))
    return session


def test_copilot_knows_output_only(tmp_path):
    session = read(copilot, tmp_path, *COPILOT)
    assert [request.usage for request in session.requests] == [Usage(output=n) for n in (50, 60, 7)]
    first, second, third = session.requests
    assert [(request.end - request.start) // 10**9 for request in (first, second)] == [3, 3]
    assert (first.provider, second.model, first.settings) == (
        "anthropic",
        "claude-sonnet-4.6",
        (("effort", '"medium"'),),
    )
    assert (second.parent, third.lane, third.purpose) == ("a1", "subagent t", "subagent")
    # Nothing is known about its cache, and nothing is claimed.
    assert {verdict.kind for verdict in diagnose(session).verdicts} == {"unreported"}


def test_copilot_tells_the_sums_of_a_session(tmp_path):
    sums = event("session.shutdown", 40, modelMetrics={"claude-sonnet-4.6": {"usage": SUMS}})
    session = read(copilot, tmp_path, *COPILOT, sums)
    assert "9000 tokens, of which 7000 read and 0 written" in session.problems[0].reason


def test_copilot_counts_a_call_once(tmp_path):
    session = read(copilot, tmp_path, *COPILOT, COPILOT[4])
    assert (session.accounting.rows, session.accounting.duplicate) == (4, 1)


def test_dsh_counts_each_step_once(tmp_path):
    session = read(dsh, tmp_path, *dsh_trace())
    assert [request.usage for request in session.requests] == [
        Usage(fresh=7_893, read=0, output=9),
        Usage(fresh=363, read=8_064, output=9),
        Usage(fresh=156, read=8_448, output=9),
    ]
    first = session.requests[0]
    assert [time // 10**6 - T0 for time in (first.start, first.first_token, first.end)] == [10, 310, 900]
    assert (first.provider, first.model) == ("deepseek", "deepseek-v4-flash")


def test_dsh_tells_when_tools_changed(tmp_path):
    session = read(dsh, tmp_path, *dsh_trace())
    assert [(event.kind, event.before) for event in session.events] == [
        ("prompt_submitted", session.requests[0].id),
        ("tools_delta", session.requests[2].id),
    ]


def test_a_child_counts_nothing_of_its_seed(tmp_path):
    session = read(dsh, tmp_path, *dsh_trace(seedLength=30, parentId="d0"))
    assert [request.counted for request in session.requests] == [False, False, True]
    assert session.lanes[0].purpose == "subagent"


@pytest.mark.parametrize(("rows", "name"), [(COPILOT, "copilot-cli"), (dsh_trace(), "dsh")])
def test_they_are_told_apart(tmp_path, rows, name):
    path = tmp_path / "x"
    path.write_bytes(jsonl(*rows))
    found = detect(str(path))
    assert found is not None
    assert found.name == name


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_copilot(tmp_path, damage):
    check_damaged(copilot, tmp_path / "c.jsonl", damaged(jsonl(*COPILOT), damage))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_dsh(tmp_path, damage):
    check_damaged(dsh, tmp_path / "d.jsonl", damaged(jsonl(*dsh_trace()), damage))


@pytest.mark.parametrize(
    ("name", "requests", "share"), [("goal-multi-turn-12req", 12, 91.1), ("fs-delete-recreate-5req", 5, 79.5)]
)
def test_real_traces_of_dsh(shared_data, name, requests, share):
    path = shared_data / "deepseek-harness" / f"dsh__{name}.jsonl"
    (session,) = sound(list(dsh.read_sessions([str(path)])))
    total = sum(request.usage.total_input for request in session.requests)
    reads = sum(request.usage.read for request in session.requests)
    assert (len(session.requests), round(100 * reads / total, 1)) == (requests, share)
    assert all(request.start < request.first_token < request.end for request in session.requests)
    assert all(request.usage.read % 128 == 0 for request in session.requests)
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", *["hit"] * (requests - 1)]


@pytest.mark.parametrize(("name", "calls"), [("1.0.64-sonnet46", 54), ("small", 1)])
def test_real_logs_of_copilot(shared_data, name, calls):
    path = shared_data / "copilot-cli" / f"agentv__copilot-{name}.jsonl"
    (session,) = sound(list(copilot.read_sessions([str(path)])))
    assert len(session.requests) == session.accounting.rows == calls
    whole = calls == 1  # the sums of a session of one call are that call's
    assert all((request.usage.total_input is not None) == whole for request in session.requests)
    assert all(request.usage.output for request in session.requests)
