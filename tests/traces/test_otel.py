"""Telemetry: old and new names, input with and without the cached part, events of Claude Code."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.dates import SECOND
from agentsim.core.session import Problem, Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import otel
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

START = 1_780_000_000 * SECOND


def attributes(values):
    kinds = {str: "stringValue", float: "doubleValue"}
    return [
        {"key": key, "value": {kinds[type(value)]: value} if type(value) in kinds else {"intValue": str(value)}}
        for key, value in values.items()
    ]


def span(id, at, **values):
    named = {key.replace("__", "."): value for key, value in values.items()}
    made = {
        "spanId": id,
        "traceId": "t",
        "name": "chat",
        "startTimeUnixNano": str(START + at * SECOND),
        "endTimeUnixNano": str(START + (at + 2) * SECOND),
        "attributes": attributes({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1", **named}),
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}


def event(id, at, **values):
    named = {"event.name": "api_request", "session.id": "s1", "request_id": id, "model": "claude-opus-4-8", **values}
    record = {"timeUnixNano": str(START + at * SECOND), "attributes": attributes(named)}
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


ROWS = jsonl(
    event("r1", 10, input_tokens=3, cache_read_tokens=20, cache_creation_tokens=100, output_tokens=7, duration_ms=2500),
    event("r2", 12, input_tokens="3", output_tokens="7", duration_ms="500", query_source="Explore"),
    event("r1", 10, input_tokens=3, output_tokens=7),
    span("b", 30, gen_ai__usage__input_tokens=100, gen_ai__usage__output_tokens=4, gen_ai__system="openai"),
    span("a", 20, gen_ai__usage__input_tokens=50, gen_ai__response__time_to_first_chunk=0.5),
    span("x", 25, gen_ai__operation__name="execute_tool", gen_ai__usage__input_tokens=9),
)


def only(path):
    (session,) = sound(list(otel.read_sessions([str(path)])))
    return session


def test_events_and_spans(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(ROWS)
    found = detect(str(path))
    assert found is not None
    assert found.name == "otel"
    session = only(path)
    accounting = session.accounting
    assert (accounting.rows, accounting.used, accounting.duplicate, accounting.not_billable) == (6, 4, 1, 1)
    one, two, first, second = session.requests
    assert one.usage == Usage(fresh=3, read=20, write_other=100, output=7)
    assert (one.start, one.end) == (START + 7_500_000_000, START + 10 * SECOND)
    assert (one.lane, two.lane, two.usage.fresh) == ("s1", "s1/Explore", 3)
    assert (first.id, second.id, second.parent, second.provider) == ("a", "b", "a", "openai")
    assert first.first_token == START + 20 * SECOND + SECOND // 2


def by(emitter, export):
    export["resourceSpans"][0]["scopeSpans"][0]["scope"] = {"name": emitter, "version": "1"}
    return export


@pytest.mark.parametrize("read", otel.READ)
@pytest.mark.parametrize("write", otel.WRITE)
def test_every_name_and_both_conventions(tmp_path, read, write):
    path = tmp_path / "x"
    inclusive = {"gen_ai.usage.input_tokens": 100, read: 70, write: 20, "gen_ai.usage.output_tokens": 4}
    exclusive = {**inclusive, "gen_ai.usage.input_tokens": 10}
    path.write_bytes(jsonl(by("one", span("a", 0, **inclusive)), by("other", span("b", 1, **exclusive))))
    expected = Usage(fresh=10, read=70, write_other=20, output=4)
    assert [request.usage for request in only(path).requests] == [expected, expected]


def test_spans_follow_what_others_of_their_emitter_prove(tmp_path):
    """40 of input beside 70 read cannot hold them: nor does the 100 of the same emitter, whatever its names are."""
    path = tmp_path / "x"
    rows = [
        by("old", span("a", 0, **{"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read_input_tokens": 70})),
        by("old", span("b", 1, **{"gen_ai.usage.input_tokens": 40, "gen_ai.usage.cache_read_input_tokens": 70})),
    ]
    path.write_bytes(jsonl(*rows))
    session = only(path)
    assert [request.usage.total_input for request in session.requests] == [170, 110]
    assert not session.problems


@pytest.mark.parametrize(("total", "fresh"), [(104, 30), (174, 100)])
def test_a_total_decides(tmp_path, total, fresh):
    path = tmp_path / "x"
    counters = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read_input_tokens": 70}
    more = {"gen_ai.usage.output_tokens": 4, "gen_ai.usage.total_tokens": total}
    path.write_bytes(jsonl(span("a", 0, **counters, **more)))
    session = only(path)
    assert session.requests[0].usage == Usage(fresh=fresh, read=70, output=4)
    assert not session.problems


@pytest.mark.parametrize(
    ("name", "told"), [("gen_ai.usage.cache_read.input_tokens", 0), ("gen_ai.usage.cache_read_input_tokens", 1)]
)
def test_what_cannot_be_told_is_said(tmp_path, name, told):
    path = tmp_path / "x"
    path.write_bytes(
        jsonl(
            span("a", 0, **{"gen_ai.usage.input_tokens": 100}),
            span("b", 1, **{"gen_ai.usage.input_tokens": 100, name: 70}),
        )
    )
    session = only(path)
    assert [request.usage.fresh for request in session.requests] == [100, 30]
    assert len(session.problems) == told
    assert all(problem.line == 0 and "first in line 2" in problem.reason for problem in session.problems)


def test_real_spans_without_counters_are_no_calls(shared_data):
    paths = sorted(str(path) for path in (shared_data / "otlp-json").glob("*.jsonl"))
    told: list[Problem] = []
    assert len(paths) == 3
    assert not list(otel.read_sessions(paths, told))
    assert len(told) == 3


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(otel, tmp_path / "x.jsonl", damaged(ROWS, damage))
