"""Lines of counters alone: whose they are their names tell, and what they do not hold stays unknown."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import usage_lines
from tests.traces.captures import START, jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

MESSAGES = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 70,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 20},
    "output_tokens": 9,
}
CHAT = {"prompt_tokens": 94, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}}
DEEPSEEK = {"prompt_tokens": 94, "completion_tokens": 9, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 30}
RESPONSES = {"input_tokens": 94, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 9}
CONVERSE = {"inputTokens": 4, "outputTokens": 9, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 20}
GEMINI = {"promptTokenCount": 94, "candidatesTokenCount": 9, "cachedContentTokenCount": 64}

INSIDE = Usage(fresh=30, read=64, output=9)


@pytest.mark.parametrize(
    ("row", "provider", "usage"),
    [
        ({"model": "claude-opus-5", "usage": MESSAGES}, "anthropic", Usage(fresh=4, write_long=20, read=70, output=9)),
        ({"model": "gpt-5.4", "usage": CHAT}, "openai", INSIDE),
        ({"model": "deepseek-v4-pro", "usage": DEEPSEEK}, "deepseek", INSIDE),
        ({"model": "gpt-5.4", "response": {"id": "r", "usage": RESPONSES}}, "openai", INSIDE),
        ({"request": {"model": "gpt-5.4"}, "response": {"body": {"usage": RESPONSES}}}, "openai", INSIDE),
        ({"model": "gemini-3-flash", "usageMetadata": GEMINI}, "google", INSIDE),
        ({"model": "zeta", "url": "https://api.x.ai/v1", "usage": CHAT}, "xai", INSIDE),
        (
            {"model": "us.anthropic.claude-opus-5", "usage": CONVERSE},
            "bedrock",
            Usage(fresh=4, write_other=20, read=70, output=9),
        ),
    ],
)
def test_counters_of_each_api(tmp_path, row, provider, usage):
    (session,) = sessions(tmp_path, row)
    (request,) = session.requests
    assert request.provider == provider
    names = ("fresh", "read", "write", "output")
    assert [getattr(request.usage, name) for name in names] == [getattr(usage, name) for name in names]
    assert (session.completeness, request.prompt) == ("usage", None)


def test_lanes_times_copies_and_costs(tmp_path):
    rows = (
        {"id": "a", "session_id": "one", "timestamp": START, "model": "gpt-5.4", "usage": CHAT, "cost": 0.5},
        {"id": "b", "session_id": "two", "timestamp": START + 1, "model": "gpt-5.4", "usage": CHAT},
        {"id": "a", "session_id": "one", "timestamp": START, "model": "gpt-5.4", "usage": CHAT},
        {"id": "c", "model": "gpt-5.4"},
        {"id": "d", "model": "gpt-5.4", "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
    )
    (session,) = sessions(tmp_path, *rows)
    accounting = session.accounting
    assert (accounting.rows, accounting.used, accounting.duplicate, accounting.not_billable) == (5, 2, 1, 1)
    assert accounting.skipped == (("no usage", 1),)
    assert [request.lane for request in session.requests] == ["one", "two"]
    assert [request.start for request in session.requests] == [START * 10**9, (START + 1) * 10**9]
    assert [request.logged_cost for request in session.requests] == [5 * 10**11, None]


@pytest.mark.parametrize(
    "line",
    [b'{"usage": "see README", "model": "x"}', b'{"usage": {}, "model": "x"}', b'{"usage": {"prompt_tokens": 1}}'],
)
def test_other_documents_are_none(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_bytes(line + b"\n")
    assert detect(str(path)) is None


def sessions(folder, *rows):
    path = folder / "x.jsonl"
    path.write_bytes(jsonl(*rows))
    found = detect(str(path))
    assert found is not None
    assert found.name == "usage-lines"
    return sound(list(usage_lines.read_sessions([str(path)])))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    rows = [{"id": f"r{n}", "model": "gpt-5.4", "timestamp": START + n, "usage": CHAT} for n in range(4)]
    check_damaged(usage_lines, tmp_path / "x.jsonl", damaged(jsonl(*rows), damage))
