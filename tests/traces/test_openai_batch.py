"""OpenAI Batch: requests and results in any order, both APIs, input with the cached part."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect, read
from agentsim.traces.readers import openai_batch
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

SYSTEM = {"role": "system", "content": "You classify. " * 200}


def asked(id, text, url="/v1/chat/completions"):
    body = {"model": "gpt-5.2", "messages": [SYSTEM, {"role": "user", "content": text}]}
    if url.endswith("responses"):
        body = {"model": "gpt-5.2", "instructions": SYSTEM["content"], "input": text}
    return {"custom_id": id, "method": "POST", "url": url, "body": body}


def answered(id, usage, status=200, error=None):
    body = {"id": f"r-{id}", "model": "gpt-5.2-2026-01-01", "usage": usage}
    response = {"status_code": status, "request_id": f"q-{id}", "body": body}
    return {"id": f"b-{id}", "custom_id": id, "response": response, "error": error}


CHAT = {"prompt_tokens": 700, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 512}}
RESPONSES = {
    "input_tokens": 700,
    "output_tokens": 3,
    "input_tokens_details": {"cached_tokens": 128, "cache_write_tokens": 500},
}
ASKED = jsonl(asked("a", "one"), asked("b", "two"), asked("c", "three", "/v1/responses"), asked("d", "four"))
ANSWERED = jsonl(
    answered("b", CHAT),
    answered("d", {}, status=429, error={"code": "rate_limit"}),
    answered("c", RESPONSES),
    answered("a", {**CHAT, "prompt_tokens_details": None}),
    answered("a", CHAT),
    answered("z", CHAT),
)


def test_joined_in_the_order_in_which_they_were_asked(tmp_path):
    (tmp_path / "out.jsonl").write_bytes(ANSWERED)
    (tmp_path / "input.jsonl").write_bytes(ASKED)
    for name in ("out.jsonl", "input.jsonl"):
        found = detect(str(tmp_path / name))
        assert found is not None
        assert found.name == "openai-batch"
    (session,) = sound(list(read([str(tmp_path)])))
    assert [request.id for request in session.requests] == ["a", "b", "c", "z"]
    assert [request.usage for request in session.requests] == [
        Usage(fresh=700, output=3),
        Usage(fresh=188, read=512, output=3),
        Usage(fresh=72, read=128, write_other=500, output=3),
        Usage(fresh=188, read=512, output=3),
    ]
    accounting = session.accounting
    # Four requests and one failure are not billed; the second answer to "a" is a copy.
    assert (accounting.rows, accounting.used, accounting.not_billable, accounting.duplicate) == (10, 4, 5, 1)
    one, two, three, last = session.requests
    assert one.prompt.tokens == two.prompt.tokens == 700
    assert two.prompt.common_length(one.prompt) == 1
    assert three.prompt is not None
    assert last.prompt is None
    assert {request.service_tier for request in session.requests} == {"batch"}
    assert session.completeness == "usage"


def test_other_endpoints_are_left_out(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl(asked("a", "x", "/v1/embeddings"), answered("a", CHAT), answered("b", CHAT)))
    (session,) = openai_batch.read_sessions([str(path)])
    assert session.accounting.skipped == (("other endpoint", 1),)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(openai_batch, tmp_path / "x.jsonl", damaged(ASKED + ANSWERED, damage))
