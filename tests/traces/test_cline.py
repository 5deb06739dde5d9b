"""Cline and its relatives: two files, three conventions, none guessed."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import cline
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

T0 = 1_790_000_000_000


def user(id, at):
    return {"id": id, "role": "user", "content": [], "ts": T0 + at}


def answer(id, at, whole, read, write=0, output=10, model="anthropic/claude-opus-4.8", provider="cline"):
    metrics = {"inputTokens": whole, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": write}
    info = {"id": model, "provider": provider}
    return {"id": id, "role": "assistant", "content": [], "ts": T0 + at, "modelInfo": info, "metrics": metrics}


def sdk(*messages):
    return json.dumps({"version": 1, "sessionId": "s1", "messages": list(messages)}).encode()


def call(at, tokens, output=10, reads=None, writes=None, **more):
    text = {
        "request": "...",
        "tokensIn": tokens,
        "tokensOut": output,
        "cacheReads": reads,
        "cacheWrites": writes,
        **more,
    }
    model = {"providerId": "anthropic", "modelId": "claude-opus-4-8"}
    return {"ts": T0 + at, "type": "say", "say": "api_req_started", "text": json.dumps(text), "modelInfo": model}


def said(at, kind):
    return {"ts": T0 + at, "type": "say", "say": kind, "text": "x"}


SESSION = sdk(
    user("u1", 0),
    answer("a1", 5_000, 34_334, 0),
    user("x_tool_y", 6_000),
    answer("a2", 9_000, 35_912, 34_332),
    user("u2", 20_000),
    answer("a3", 24_000, 36_000, 30_000, write=5_000, model="claude-opus-4-8", provider="anthropic"),
)


def only(tmp_path, data, name="ui_messages.json"):
    path = tmp_path / name
    path.write_bytes(data)
    (session,) = sound(list(cline.read_sessions([str(path)])))
    return session


def test_the_sdk_counts_cached_tokens_as_input(tmp_path):
    session = only(tmp_path, SESSION)
    first, second, third = session.requests
    assert first.usage == Usage(fresh=34_334, read=0, output=10)  # a gateway's 0 is no measurement of writes
    assert second.usage == Usage(fresh=35_912 - 34_332, read=34_332, output=10)
    assert third.usage == Usage(fresh=1_000, read=30_000, write_other=5_000, output=10)
    assert [(request.start // 10**6 - T0, request.end // 10**6 - T0) for request in session.requests] == [
        (0, 5_000),
        (6_000, 9_000),
        (20_000, 24_000),
    ]
    assert [event.before for event in session.events if event.kind == "prompt_submitted"] == ["a1", "a3"]


def test_the_panel_of_newer_versions_includes_what_was_cached(tmp_path):
    rows = [said(0, "task"), call(1_000, 10_000, reads=0, writes=9_990), call(5_000, 12_000, reads=9_990, writes=1_900)]
    session = only(tmp_path, json.dumps(rows).encode())
    assert [request.usage for request in session.requests] == [
        Usage(fresh=10, read=0, write_other=9_990, output=10),
        Usage(fresh=110, read=9_990, write_other=1_900, output=10),
    ]


def test_the_panel_of_older_versions_excludes_it_on_every_row(tmp_path):
    # 10 < 9,990: this file leaves the cached part out, so the second row does as well, though its input is large.
    rows = [call(1_000, 10, reads=0, writes=9_990), call(5_000, 20_000, reads=9_990, writes=1_900)]
    session = only(tmp_path, json.dumps(rows).encode())
    assert [request.usage.fresh for request in session.requests] == [10, 20_000]


@pytest.mark.parametrize(
    ("sent", "reads", "writes", "fresh"),
    [
        (9_990, 9_990, None, [0, 10_010]),  # read whole from the cache: the input holds it
        (9_990, 9_000, 990, [0, 10_010]),
        (9_991, 9_990, None, [1, 10_010]),
        (9_989, 9_990, None, [9_989, 20_000]),  # one token less cannot hold it, on no row of the file
        (9_989, 9_000, 990, [9_989, 20_000]),
        (None, 1, None, [None, 20_000]),
        (None, 0, None, [None, 10_010]),
        (0, None, None, [0, 10_010]),
    ],
)
def test_one_call_that_cannot_hold_its_cached_part_decides_for_the_panel(tmp_path, sent, reads, writes, fresh):
    rows = [call(1_000, sent, reads=reads, writes=writes), call(5_000, 20_000, reads=9_990)]
    session = only(tmp_path, json.dumps(rows).encode())
    assert [request.usage.fresh for request in session.requests] == fresh


def test_a_session_counts_every_message_and_names_each(tmp_path):
    nameless = {**answer("", 9_000, 800, 0), "id": None, "modelInfo": None}
    empty = answer("a2", 12_000, 0, 0, output=0)
    without = {"id": "a3", "role": "assistant", "ts": T0 + 13_000}
    data = json.dumps({"messages": [user("u1", 0), answer("a1", 5_000, 900, 0), nameless, empty, without]}).encode()
    session = only(tmp_path, data, "walk.messages.json")
    assert session.id == "walk.messages"
    assert [(one.id, one.model, one.source.line) for one in session.requests] == [
        ("a1", "anthropic/claude-opus-4.8", 2),
        ("walk.messages#3", "", 3),
    ]
    found = session.accounting
    assert (found.rows, found.not_billable, found.used, len(session.problems)) == (4, 1, 2, 1)


def test_words_of_a_person_and_times_in_the_panel(tmp_path):
    rows = [
        said(0, "task"),
        said(1, "text"),
        call(1_000, 900),
        said(2_000, "text"),  # the model's own words
        said(3_000, "user_feedback"),
        {"ts": 10**14, "type": "say", "say": "user_feedback"},
        {**call(0, 500), "ts": 1, "modelInfo": None},
        {**call(0, 500), "ts": 0},
        {**call(0, 500), "ts": 10**14 - 1},
    ]
    session = only(tmp_path, json.dumps(rows).encode())
    events = [event.time for event in session.events if event.kind == "prompt_submitted"]
    assert events == [T0 * 10**6, (T0 + 1) * 10**6, (T0 + 3_000) * 10**6, None]
    assert [one.start for one in session.requests[1:]] == [10**6, None, (10**14 - 1) * 10**6]
    assert [one.id.partition("#")[2] for one in session.requests] == ["3", "7", "8", "9"]
    assert [one.model for one in session.requests[:2]] == ["claude-opus-4-8", ""]


@pytest.mark.parametrize(
    ("provider", "model", "written", "write"),
    [
        ("anthropic", "claude-opus-4-8", 0, 0),
        ("anthropic", "claude-opus-4-8", 1, 1),
        ("anthropic", "claude-opus-4-8", None, None),
        ("openrouter", "claude-opus-4-8", 0, None),  # a gateway fills in 0
        ("openrouter", "claude-opus-4-8", 1, 1),
    ],
)
def test_a_zero_of_a_gateway_is_no_measurement(tmp_path, provider, model, written, write):
    row = answer("a1", 5_000, 900, 100, write=written, model=model, provider=provider)
    assert only(tmp_path, sdk(row)).requests[0].usage.write_other == write


def test_calls_that_did_not_end_are_not_billed(tmp_path):
    unfinished = {**call(6_000, 0), "text": '{"request":"..."}'}
    failed = {**call(7_000, 0), "text": '{"cancelReason":"streaming_failed"}'}
    rows = [call(1_000, 900), unfinished, failed, said(8_000, "condense_context"), call(9_000, 500)]
    session = only(tmp_path, json.dumps(rows).encode())
    assert session.accounting.not_billable == 2
    last = session.requests[-1].id
    assert [event.kind for event in session.events if event.before == last] == [
        "interrupted",
        "api_error",
        "compaction",
    ]


@pytest.mark.parametrize("data", [SESSION, json.dumps([call(1_000, 900)], indent=1).encode()])
def test_it_is_told_from_other_formats(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    found = detect(str(path))
    assert found is not None
    assert found.name == "cline"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_a_session(tmp_path, damage):
    check_damaged(cline, tmp_path / "s.messages.json", damaged(SESSION, damage))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_a_panel(tmp_path, damage):
    rows = [said(0, "task"), call(1_000, 10_000, reads=0, writes=9_990), call(5_000, 12_000, reads=9_990)]
    check_damaged(cline, tmp_path / "ui_messages.json", damaged(json.dumps(rows).encode(), damage))


def test_a_real_session(shared_data):
    path = shared_data / "cline" / "cline__sdk-session.messages.json"
    (session,) = sound(list(cline.read_sessions([str(path)])))
    total = sum(request.usage.total_input for request in session.requests)
    reads = sum(request.usage.read for request in session.requests)
    assert (len(session.requests), total, round(100 * reads / total, 1)) == (16, 630_254, 84.8)
    verdicts = diagnose(session).verdicts
    misses = [(index, verdict.cause) for index, verdict in enumerate(verdicts) if verdict.kind == "miss"]
    # The one loss comes after 397 idle seconds, and Claude's entries live for five minutes.
    assert misses == [(11, "AS201")]
