"""Batches: requests and results joined by their id, at half the price, without times."""

from __future__ import annotations

import msgspec
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Problem
from agentsim.rules.prices import default_book
from agentsim.traces.format_registry import detect, read
from agentsim.traces.readers import anthropic_batch
from tests.traces.captures import body, jsonl, response, usage, user
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

REQUESTS = [{"custom_id": f"c{n}", "params": body(user(f"question {n}"))} for n in range(4)]
RESULTS = [
    {"custom_id": "c2", "result": {"type": "succeeded", "message": response("m2", usage(read=500, fresh=20))}},
    {"custom_id": "c0", "result": {"type": "succeeded", "message": response("m0", usage(write=500, fresh=20))}},
    {"custom_id": "c1", "result": {"type": "errored", "error": {"type": "invalid_request"}}},
    {"custom_id": "c9", "result": {"type": "succeeded", "message": response("m9")}},
]


def test_results_in_any_order_find_their_requests(tmp_path):
    for name, rows in (("results.jsonl", RESULTS), ("requests.jsonl", REQUESTS)):
        (tmp_path / name).write_bytes(jsonl(*rows))
        found = detect(str(tmp_path / name))
        assert found is not None
        assert found.name == "anthropic-batch"
    (session,) = sound(list(read([str(tmp_path)])))
    assert [request.id for request in session.requests] == ["c0", "c2"]
    assert all(request.start is None and request.prompt is not None for request in session.requests)
    assert session.accounting.skipped == (("no request", 1),)
    first = session.requests[0]
    half, _ = default_book().price(first)
    whole, _ = default_book().price(msgspec.structs.replace(first, service_tier=None))
    assert half is not None
    assert whole == 2 * half


def test_results_alone_are_an_error_that_says_so(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(jsonl(*RESULTS))
    told: list[Problem] = []
    assert not list(anthropic_batch.read_sessions([str(path)], told))
    assert any("no request" in problem.reason for problem in told)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(anthropic_batch, tmp_path / "x.jsonl", damaged(jsonl(*REQUESTS, *RESULTS), damage))
