"""No damage to a file makes a reader do more than say what is wrong, and no row gets lost in the accounts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentsim.core.session import Problem
from agentsim.traces.format_registry import read
from agentsim.traces.hostile_records import TraceError, rows_of
from agentsim.traces.readers import agentsim1, claude_code, claude_trace, pairs, raw_bodies
from tests.traces.captures import body, conversation, jsonl, pair, response, sse, stream, usage, user
from tests.traces.damage import damaged, damages

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"
CAPTURE = jsonl(
    *(
        pair(asked, response(f"m{n}", usage(write=9)), at=n, headers={"anthropic-beta": "b"})
        for n, asked in enumerate(conversation(3))
    ),
    pair(body(user("x")), sse(*stream("m9", usage(), {"output_tokens": 3})), at=9),
    pair(body(user("y")), None, at=10),
)
ANY = msgspec.json.Decoder(msgspec.Raw)
PAIRS = jsonl(
    *({"request": asked, "response": response(f"m{n}"), "start": n} for n, asked in enumerate(conversation(3))),
    {"request_body": json.dumps(body(user("x"))), "response": sse(*stream("m9", usage()))},
)


def trace():
    folder = SAMPLES / "claude-trace.jsonl"
    (session,) = claude_trace.read_sessions([str(folder)])
    stream = io.BytesIO()
    agentsim1.write(session, stream)
    return stream.getvalue()


TRACE = trace()
CLAUDE_LOG = (SAMPLES / "claude-code.jsonl").read_bytes() if (SAMPLES / "claude-code.jsonl").exists() else b""

often = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check(reader, path, data):
    """Read damaged data in the three ways in which callers do, and look at the accounts."""
    path.write_bytes(data)
    told: list[Problem] = []
    sessions = list(reader.read_sessions([str(path)], told))
    for session in sessions:
        assert session.accounting.adds_up
        assert session.accounting.used <= 1 or session.requests or session.problems
        ids = [request.id for request in session.requests]
        assert len(ids) == len(set(ids))
        lanes = {lane.id for lane in session.lanes}
        assert {request.lane for request in session.requests} <= lanes
        for problem in (*session.problems, *told):
            assert problem.reason
            assert problem.remedy
        for request in session.requests:
            if request.prompt is not None:
                assert len(list(request.prompt)) == len(request.prompt)
    if not sessions:
        assert told
        with pytest.raises(TraceError) as caught:
            list(read([str(path)]))
        assert str(path) in str(caught.value)
    return sessions


@often
@given(damage=damages)
@example(damage=[("cut", 100, 0)])
@example(damage=[("recode", 1, 0)])
@example(damage=[("value", 0, 11)])
def test_claude_trace(tmp_path, damage):
    path = tmp_path / "log.jsonl"
    sessions = check(claude_trace, path, damaged(CAPTURE, damage))
    if sessions:
        assert sum(session.accounting.rows for session in sessions) == len(list(rows_of(str(path), ANY)))


@often
@given(damage=damages)
@example(damage=[("value", 0, 5)])
def test_pairs(tmp_path, damage):
    path = tmp_path / "log.jsonl"
    sessions = check(pairs, path, damaged(PAIRS, damage))
    if sessions:
        assert sum(session.accounting.rows for session in sessions) == len(list(rows_of(str(path), ANY)))


@often
@given(damage=damages)
@example(damage=[("flip", 444, 0)])  # an accounting in the header that does not add up
@example(damage=[("cut", 470, 0)])  # a header and nothing else
@example(damage=[("swap lines", 0, 3)])
@example(damage=[("join lines", 0, 0)])
def test_agentsim1(tmp_path, damage):
    check(agentsim1, tmp_path / "trace.jsonl", damaged(TRACE, damage))


@often
@given(damage=damages, which=st.integers(0, 3))
def test_raw_bodies(tmp_path, damage, which):
    for n, asked in enumerate(conversation(2)):
        files = {f"{n}.request.json": asked, f"req_{n}.response.json": response(f"m{n}")}
        for position, (name, content) in enumerate(files.items()):
            data = json.dumps(content).encode()
            (tmp_path / name).write_bytes(damaged(data, damage) if which == 2 * n + position else data)
    told: list[Problem] = []
    sessions = list(raw_bodies.read_sessions([str(tmp_path)], told))
    assert all(session.accounting.adds_up for session in sessions)
    assert sum(session.accounting.rows for session in sessions) == 2


@often
@given(damage=damages)
def test_claude_code(tmp_path, damage):
    path = tmp_path / "session.jsonl"
    path.write_bytes(damaged(CLAUDE_LOG, damage))
    told: list[Problem] = []
    for session in claude_code.read_sessions([str(path)], told):
        assert session.accounting.adds_up


@often
@given(damage=damages, base=st.sampled_from([CAPTURE, PAIRS, TRACE, CLAUDE_LOG]))
def test_whatever_it_is_only_clear_errors_come_out(tmp_path, damage, base):
    path = tmp_path / "log.jsonl"
    path.write_bytes(damaged(base, damage))
    sessions = []
    try:
        sessions = list(read([str(path)], []))
    except TraceError as error:
        told = error
        assert (told.file, bool(told.reason), bool(told.remedy)) == (str(path), True, True)
    assert all(session.accounting.adds_up for session in sessions)
