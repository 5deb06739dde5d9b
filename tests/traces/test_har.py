"""HTTP archives and cassettes: whole bodies, times of the wire, and copies that are counted once."""

from __future__ import annotations

import base64
import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Problem, Usage
from agentsim.rules.prices import default_book
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import har, vcr
from agentsim.traces.time_stamps import nanoseconds
from tests.traces.captures import body, conversation, response, sse, stream, usage, user
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

URL = "https://api.anthropic.com/v1/messages"
often = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def name_of(path):
    found = detect(str(path))
    return None if found is None else found.name


def entry(asked, text, second=0, url=URL, encoding=None, status=200):
    content = {"text": text, "mimeType": "application/json"}
    if encoding:
        content |= {"text": base64.b64encode(text.encode()).decode(), "encoding": encoding}
    return {
        "startedDateTime": f"2026-05-28T20:26:{3 * second:02}.500Z",
        "time": 1500.25,
        "timings": {"blocked": -1, "send": 0.25, "wait": 400, "receive": 1100},
        "request": {
            "method": "POST",
            "url": url,
            "headers": [{"name": "X-Api-Key", "value": "sk-secret"}, {"name": "anthropic-beta", "value": "b1"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
        },
        "response": {
            "status": status,
            "headers": [{"name": "request-id", "value": f"req_{second}"}],
            "content": content,
        },
    }


def archive(*entries):
    log = {"version": "1.2", "creator": {"name": "test", "version": "1"}, "pages": [], "entries": list(entries)}
    return json.dumps({"log": log}, indent=1).encode()


ASKED = list(conversation(3))
WHOLE = archive(
    entry(ASKED[0], json.dumps(response("m0", usage(write=9)))),
    entry(ASKED[1], sse(*stream("m1", usage(read=9), {"output_tokens": 3})), 1, encoding="base64"),
    entry(ASKED[1], json.dumps(response("m1")), 2),
    entry(ASKED[2], '{"type":"error"}', 3, status=529),
    entry({}, "{}", 4, url="https://example.com/"),
)


def test_an_archive(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(WHOLE)
    assert name_of(path) == "har"
    (session,) = har.read_sessions([str(path)])
    accounting = session.accounting
    assert (accounting.rows, accounting.used, accounting.duplicate, accounting.not_billable) == (5, 2, 1, 2)
    one, two = session.requests
    start = nanoseconds("2026-05-28T20:26:00.500Z")
    assert start is not None
    assert (one.start, one.first_token, one.end) == (start, start + 400_250_000, start + 1_500_250_000)
    assert (one.id, two.parent) == ("req_0", "req_0")
    assert two.usage == Usage(fresh=1, write_short=None, write_long=None, write_other=0, read=9, output=3)
    assert "sk-secret" not in repr(session)


@often
@given(damage=damages)
def test_a_damaged_archive(tmp_path, damage):
    check_damaged(har, tmp_path / "x.har", damaged(WHOLE, damage))


def test_an_archive_without_calls_says_so(shared_data, tmp_path):
    told: list[Problem] = []
    path = shared_data / "har" / "mitmproxy__event_stream.har"
    assert name_of(path) == "har"
    assert not list(har.read_sessions([str(path)], told))
    assert "no request to a known API" in told[0].reason


CASSETTE = b"""interactions:
- request:
    body: '%s'
    headers: {x-api-key: [secret]}
    method: POST
    uri: https://api.anthropic.com/v1/messages
  response:
    body: {string: '%s'}
    headers: {request-id: [req_1]}
    status: {code: 200, message: OK}
- request:
    parsed_body: {model: m, max_tokens: 9, messages: [{role: user, content: hi}]}
    uri: https://api.anthropic.com/v1/messages?beta=true
  response:
    parsed_body: {id: m2, model: m, usage: {input_tokens: 4, output_tokens: 2}}
    status: {code: 200}
- request: {uri: 'https://api.anthropic.com/v1/files', body: null}
  response: {status: {code: 200}}
version: 1
""" % (json.dumps(body(user("x"))).encode(), json.dumps(response("m1", usage(write=7))).encode())


def test_a_cassette(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "x.yaml"
    path.write_bytes(CASSETTE)
    assert name_of(path) == "vcr-cassette"
    (session,) = sound(list(vcr.read_sessions([str(path)])))
    assert [request.usage.total_input for request in session.requests] == [8, 4]
    assert all(request.start is None for request in session.requests)
    assert (session.accounting.rows, session.accounting.used, session.accounting.not_billable) == (3, 2, 1)


def test_a_cassette_that_stands_for_an_endless_one(tmp_path):
    pytest.importorskip("yaml")
    bomb = b"interactions:\n- &a0 {request: 1}\n" + b"".join(
        b"- &a%d [%s]\n" % (n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 9)
    )
    assert not check_damaged(vcr, tmp_path / "x.yaml", bomb)


@often
@given(damage=damages)
def test_a_damaged_cassette(tmp_path, damage):
    pytest.importorskip("yaml")
    check_damaged(vcr, tmp_path / "x.yaml", damaged(CASSETTE, damage))


def test_real_cassettes(shared_data):
    pytest.importorskip("yaml")
    by_name = {}
    for path in sorted((shared_data / "vcr-cassette").glob("*.yaml")):
        (session,) = sound(list(vcr.read_sessions([str(path)])))
        by_name[path.name[len("pydantic-ai__test_anthropic_") :][:10]] = session
    cached = by_name["cache_real"].requests
    assert [(r.usage.read, r.usage.write, r.usage.fresh) for r in cached] == [(1111, 0, 3), (1111, 418, 3)]
    (compacted,) = by_name["compaction"].requests
    assert [part.write for part in compacted.iterations] == [55_096, 0]
    # 55,096 written and 100 + 229 fresh and 131 + 5 generated, not only what the top says: 229 and 5.
    alone = msgspec.structs.replace(compacted, iterations=())
    (paid, _), (top, _) = default_book().price(compacted), default_book().price(alone)
    assert paid is not None
    assert top is not None
    assert paid > 50 * top
