"""Exports of Langfuse, LangSmith and Helicone: whose input holds the cached part, and what is no call of a model."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import helicone, langfuse, langsmith
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

AT = "2026-09-10T10:00:0{}.000Z"


def observation(id, at=0, **fields):
    usage = fields.pop("usageDetails", {"input": 100, "output": 5, "cache_read_input_tokens": 80, "total": 105})
    row = {"id": id, "traceId": "t1", "type": "GENERATION", "startTime": AT.format(at), "endTime": AT.format(at + 1)}
    return {**row, "model": "gpt-5.2", "parentObservationId": None, "usageDetails": usage, **fields}


def run(id, at=0, **fields):
    details = fields.pop("details", {"cache_read": 80})
    metadata = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105, "input_token_details": details}
    message = {"kwargs": {"usage_metadata": metadata}}
    row = {"id": id, "run_type": "llm", "trace_id": "t1", "start_time": AT.format(at), "end_time": AT.format(at + 1)}
    row["outputs"] = {"generations": [[{"message": message}]]}
    row["extra"] = {"metadata": {"ls_provider": "anthropic", "ls_model_name": "claude-sonnet-4-5", "thread_id": "c1"}}
    return {**row, **fields}


def request(id, at=0, **fields):
    row = {"request_id": id, "request_created_at": AT.format(at), "response_created_at": AT.format(at + 2)}
    row |= {"delay_ms": 2000, "time_to_first_token": 400, "model": "gpt-5.2", "properties": {"Session-Id": "s1"}}
    row |= {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_read_tokens": 0, "prompt_cache_write_tokens": 0}
    return {**row, **fields}


def chat(*words):
    messages = [{"role": "system", "content": "x " * 900}, *({"role": "user", "content": word} for word in words)]
    return {"model": "gpt-5.2", "messages": messages}


LANGFUSE = [
    observation("o2", 2, usageDetails={"input": 30, "output": 5, "cache_read_input_tokens": 100, "total": 135}),
    observation("o1", 1),
    observation("o1", 1),
    observation("s1", type="SPAN"),
    observation("o3", 3, level="ERROR"),
]
LANGSMITH = [
    run("r2", 2, details={"cache_read": 60, "cache_creation": 0, "ephemeral_1h_input_tokens": 30}),
    run("r1", 1),
    run("c1", run_type="chain"),
    run("r3", 3, error="overloaded", outputs=None),
]
USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}
CLAUDE = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10}
HELICONE = [
    request("h2", 2, request_body=chat("a", "b"), response_body={"usage": USAGE}),
    request("h1", 1, request_body=json.dumps(chat("a")), response_body=json.dumps({"usage": USAGE})),
    request("h3", 3, model="claude-sonnet-4-5", provider="ANTHROPIC", response_body={"usage": CLAUDE}),
    request("h4", 4, **{"cache-hit": True}),
    request("h5", 5, response_status=429),
]
ALL = [(langfuse, LANGFUSE), (langsmith, LANGSMITH), (helicone, HELICONE)]
IDS = ["langfuse", "langsmith", "helicone"]


def only(reader, path):
    (session,) = sound(list(reader.read_sessions([str(path)])))
    return session


def wrapped(rows):
    """The same rows in each way in which they are exported."""
    return [jsonl(*rows), json.dumps(rows).encode(), json.dumps({"data": rows, "meta": {}}, indent=1).encode()]


@pytest.mark.parametrize(("reader", "rows"), ALL, ids=IDS)
def test_lines_arrays_and_pages_are_the_same(tmp_path, reader, rows):
    sessions = []
    for number, data in enumerate(wrapped(rows)):
        path = tmp_path / f"{number}"
        path.write_bytes(data)
        found = detect(str(path))
        assert found is not None
        assert found.name == reader.NAME
        sessions.append(only(reader, path))
    assert [[request.usage for request in session.requests] for session in sessions[1:]] == [
        [request.usage for request in sessions[0].requests]
    ] * 2
    assert {session.accounting for session in sessions} == {sessions[0].accounting}


def test_langfuse(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(jsonl(*LANGFUSE))
    session = only(langfuse, path)
    accounting = session.accounting
    assert (accounting.used, accounting.duplicate, accounting.not_billable) == (2, 1, 2)
    # 105 is 100 and 5: input holds the 80 read. 135 is 30, 100 and 5: it does not.
    assert [request.usage for request in session.requests] == [
        Usage(fresh=20, read=80, output=5),
        Usage(fresh=30, read=100, output=5),
    ]
    assert [(request.id, request.lane, request.provider) for request in session.requests] == [
        ("o1", "t1", "openai"),
        ("o2", "t1", "openai"),
    ]


def test_langfuse_does_not_guess(tmp_path):
    unclear = {"input": 100, "output": 5, "cache_read_input_tokens": 80}
    path = tmp_path / "x"
    path.write_bytes(jsonl(observation("a", usageDetails=unclear), observation("b", 1, usageDetails={"input": 9})))
    session = only(langfuse, path)
    assert session.accounting.skipped == (("unclear convention", 1),)
    assert [request.usage.fresh for request in session.requests] == [9]
    # Beside a row that proves one way, it is read that way.
    path.write_bytes(jsonl(observation("a", usageDetails=unclear), observation("b", 1)))
    assert [request.usage.fresh for request in only(langfuse, path).requests] == [20, 20]


def test_langsmith(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(jsonl(*LANGSMITH))
    session = only(langsmith, path)
    assert (session.accounting.used, session.accounting.not_billable) == (2, 2)
    # The counter of all writes is 0 where they are split: 30 for one hour count, and 100 holds all parts.
    assert [request.usage for request in session.requests] == [
        Usage(fresh=20, read=80, output=5),
        Usage(fresh=10, read=60, write_long=30, output=5),
    ]
    assert {(request.lane, request.model, request.provider) for request in session.requests} == {
        ("c1", "claude-sonnet-4-5", "anthropic")
    }


def test_helicone(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(jsonl(*HELICONE))
    session = only(helicone, path)
    assert (session.accounting.used, session.accounting.not_billable) == (3, 2)
    one, two, three = session.requests
    assert (one.id, one.lane) == ("h1", "s1")
    assert one.usage == two.usage == Usage(fresh=36, read=64, output=5)
    assert three.usage == Usage(fresh=10, read=80, write_other=10, output=5)
    assert one.first_token - one.start == 400 * 10**6
    # Both bodies are of one conversation, and their blocks add up to what was counted.
    assert one.prompt.tokens == 100
    assert two.prompt.common_length(one.prompt) == len(one.prompt) == 2
    assert three.prompt is None


def test_helicone_does_not_guess(tmp_path):
    path = tmp_path / "x"
    rows = [
        request("a", 1, prompt_cache_read_tokens=80),
        request("b", 2, prompt_cache_read_tokens=80, total_tokens=185),
        request("c", 3, prompt_cache_read_tokens=120),
        request("d", 4),
    ]
    path.write_bytes(jsonl(*rows))
    session = only(helicone, path)
    assert session.accounting.skipped == (("unclear convention", 1),)
    assert [request.usage.fresh for request in session.requests] == [100, 100, 100]


@pytest.mark.parametrize(("reader", "rows"), ALL, ids=IDS)
@pytest.mark.parametrize("form", [0, 1, 2], ids=["lines", "array", "pages"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, reader, rows, form, damage):
    check_damaged(reader, tmp_path / "x.json", damaged(wrapped(rows)[form], damage))
