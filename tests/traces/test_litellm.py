"""Rows of the gateway: input includes what was cached, and its own cache is another one."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import litellm
from tests.traces.captures import START, jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound


def row(id, sent, output, **fields):
    return {
        "request_id": id,
        "call_type": "acompletion",
        "model": "anthropic/claude-opus-4-8",
        "prompt_tokens": sent,
        "completion_tokens": output,
        "startTime": "2026-05-28T20:26:40Z",
        "endTime": "2026-05-28T20:26:42Z",
        "cache_hit": "False",
        "session_id": "s1",
        **fields,
    }


CACHED = {"cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
ROWS = jsonl(
    row("a", 100, 4, metadata={"usage_object": CACHED}),
    row(
        "b", 100, 4, metadata=json.dumps({"additional_usage_values": CACHED}), startTime=START + 60, endTime=START + 61
    ),
    row("c", 100, 4, cache_hit="True"),
    row("d", 80, 4, metadata={"usage_object": CACHED}),
    row("a", 100, 4),
    row("e", 100, 4, usage={"prompt_tokens_details": {"cached_tokens": 64}}, model="gpt-5.4", startTime=START + 90),
)


def test_rows(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(ROWS)
    found = detect(str(path))
    assert found is not None
    assert found.name == "litellm"
    (session,) = sound(list(litellm.read_sessions([str(path)])))
    accounting = session.accounting
    assert (accounting.rows, accounting.used, accounting.duplicate, accounting.not_billable) == (6, 3, 1, 1)
    assert accounting.skipped == (("bad counter", 1),)  # 80 cannot hold 70 and 20
    assert [request.usage for request in session.requests] == [
        Usage(fresh=10, read=70, write_other=20, output=4),
        Usage(fresh=10, read=70, write_other=20, output=4),
        Usage(fresh=36, read=64, output=4),
    ]
    assert [request.provider for request in session.requests] == ["anthropic", "anthropic", "openai"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(litellm, tmp_path / "x.jsonl", damaged(ROWS, damage))
