"""Wire records of Kimi CLI and Kimi Code: statuses and records of usage, input without what was cached."""

from __future__ import annotations

import pytest

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import kimi
from tests.traces.captures import jsonl
from tests.traces.log_checks import sound

SECOND = 10**9
METADATA = {"type": "metadata", "protocol_version": "1.10"}


def said(second, kind, **payload):
    return {"timestamp": second, "message": {"type": kind, "payload": payload}}


def status(second, other, read, output=10, **more):
    usage = {"input_other": other, "output": output, "input_cache_read": read, "input_cache_creation": 0}
    return said(second, "StatusUpdate", token_usage=usage, **more)


def used(model, other, read, time):
    usage = {"inputOther": other, "output": 7, "inputCacheRead": read, "inputCacheCreation": 0}
    return {"type": "usage.record", "model": model, "usage": usage, "usageScope": "turn", "time": time}


def read(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*rows))
    found = detect(str(path))
    assert found is not None
    assert found.name == "kimi"
    (session,) = sound(list(kimi.read_sessions([str(path)])))
    return session


def test_statuses_close_the_step_that_was_begun(tmp_path):
    session = read(
        tmp_path / "hash" / "s1" / "wire.jsonl",
        METADATA,
        said(100.25, "TurnBegin", user_input="x"),
        said(100.5, "StepBegin", n=1),
        said(102.0, "ContentPart", type="text", text="y"),
        status(103.75, 2_000, 0, message_id="m1"),
        said(110.0, "ToolResult"),
        said(110.5, "StepBegin", n=2),
        status(112.0, 500, 1_792, message_id="m2", plan_mode=False),
        said(112.5, "StatusUpdate", plan_mode=True, token_usage=None),
        status(112.0, 500, 1_792, message_id="m2"),
        said(120.0, "CompactionBegin"),
        said(125.0, "CompactionEnd"),
        said(126.0, "StepBegin", n=3),
        status(127.0, 800, 0, message_id="m3"),
    )
    assert (session.id, session.harness) == ("s1", "kimi")
    first, second, third = session.requests
    assert first.usage == Usage(fresh=2_000, read=0, output=10)
    assert second.usage == Usage(fresh=500, read=1_792, output=10)
    assert (first.start, first.end) == (100_500_000_000, 103_750_000_000)
    assert (second.start, second.end, second.provider) == (110_500_000_000, 112 * SECOND, "moonshotai")
    assert (session.accounting.rows, session.accounting.duplicate) == (4, 1)
    assert [event.kind for event in session.events] == ["prompt_submitted", "compaction"]
    assert third.usage.read == 0


def test_records_of_usage_name_the_model(tmp_path):
    session = read(
        tmp_path / "work" / "s2" / "agents" / "main" / "wire.jsonl",
        {"type": "metadata", "protocol_version": "1.3"},
        used("kimi-code/kimi-k2.6", 100, 10, 1_780_925_702_183),
        used("kimi-code/kimi-k2.6", 0, 0, 1_780_925_702_184) | {"usage": {"inputOther": 0}},
    )
    (request,) = session.requests
    assert (session.id, request.model, request.end) == ("s2", "kimi-k2.6", 1_780_925_702_183_000_000)
    assert request.start is None
    assert request.usage == Usage(fresh=100, read=10, output=7)
    assert session.accounting.not_billable == 1


def test_a_record_from_before_there_was_metadata(tmp_path):
    rows = (said(1.0, "TurnBegin", user_input="x"), said(2.0, "StepBegin", n=1), status(3.0, 5, 0))
    assert len(read(tmp_path / "s3" / "wire.jsonl", *rows).requests) == 1


@pytest.mark.parametrize(
    ("place", "session"),
    [
        ("g/s/wire.jsonl", "s"),
        ("w/s/agents/main/wire.jsonl", "s"),
        ("w/s/agents/agent-1/wire.jsonl", "s/agent-1"),
        ("g/s/subagents/a2/wire.jsonl", "s/a2"),
    ],
)
def test_the_session_is_named_after_its_folder(tmp_path, place, session):
    assert kimi.session_of(str(tmp_path / place)) == session


@pytest.mark.parametrize(
    "head",
    [
        b'{"type": "metadata", "version": 1}\n',
        b'{"type": "session", "protocol_version": "1"}\n',
        b'{"timestamp": 1, "message": {"type": "StatusUpdate", "payload": {}}}\n',
        b'{"jsonrpc":"2.0","method":"event","params":{"type":"TurnBegin","payload":{"user_input":"x"}}}\n',
        b"",
    ],
)
def test_what_is_no_wire_record(head):
    assert not kimi.detect(head, "wire.jsonl")
