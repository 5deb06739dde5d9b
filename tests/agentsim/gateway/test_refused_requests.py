"""What is refused is told: in the trace, on the page, by the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.gateway.injected_faults import Faults, parse_faults
from tests.agentsim.gateway.serving import MODEL, WORDS, serving, status_of

pytestmark = pytest.mark.loopback

BODY = json.dumps(
    {
        "model": MODEL,
        "max_tokens": 9,
        "system": [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "go"}],
    }
).encode()
ENVIRONMENT_URL = "import os, urllib.request as r, urllib.error\nurl = os.environ['AGENTSIM_URL']\n"
ASK = """
def ask(path, body, kind='application/json', **headers):
    try:
        r.urlopen(r.Request(url + path, body, {'content-type': kind, **headers})).read()
    except urllib.error.HTTPError as error:
        error.read()
"""


def test_each_refusal_is_in_the_trace(tmp_path: Path) -> None:
    with serving(tmp_path, faults=Faults(parse_faults(["529@2"]), retry_after=0)) as served:
        assert status_of(served.post(b"{}", "/v1/early")) == 404
        assert status_of(served.post(BODY)) == 200
        assert status_of(served.post(BODY)) == 529
        bad = served.post(b'{"model": "m", "max_tokens": 1, "messages": [{"role": "nobody", "content": "x"}]}')
        assert status_of(bad) == 400
        assert b'"request_id":"req_' in bad
        assert b"request-id: req_" in bad.lower()
        assert status_of(served.post(b"{}", "/v1/conversations/none/items?key=secret")) == 404
        assert status_of(served.post(b"x", "/v1/messages", "Content-Encoding: compress")) == 415
    (session,) = served.sessions()
    assert [event.detail for event in session.events] == [
        "HTTP 404 /v1/early: there is nothing at this path",
        "HTTP 529 /v1/messages: overloaded (injected)",
        "HTTP 400 /v1/messages: messages[0].role: must be user, assistant or system",
        "HTTP 404 /v1/conversations/none/items: no conversation with this id is kept",
        "HTTP 415 /v1/messages: bodies compressed with compress are not accepted",
    ]
    assert b"secret" not in served.trace.read_bytes()


def run(tmp_path: Path, program: str, *options: str) -> int:
    path = tmp_path / "agent.py"
    path.write_text(f"{ENVIRONMENT_URL}{ASK}body = {BODY!r}\n{program}\n")
    return main(["exec", *options, "--", sys.executable, str(path)])


def test_exec_is_not_green_where_requests_were_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    twice = "ask('/v1/messages', body)\nask('/v1/messages', b'{}')\nask('/v1/nothing', b'{}')"
    assert run(tmp_path, twice) == 1
    page = capfd.readouterr().out
    assert "Not answered as asked: 2 requests" in page
    assert "HTTP 404 /v1/nothing: there is nothing at this path" in page
    assert "2 requests refused, and at most 0 may be" in page
    assert run(tmp_path, twice, "--max-refused", "1") == 1
    assert run(tmp_path, twice, "--max-refused", "2") == 0
    assert run(tmp_path, twice, "--fail-on", "nothing") == 0


def test_injected_errors_are_told_and_do_not_count(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "ask('/v1/messages', body)\nask('/v1/messages', body)", "--fault", "529@1") == 0
    page = capfd.readouterr().out
    assert "1 × injected" in page
    assert "· API error: HTTP 529 /v1/messages: overloaded (injected)" in page


def test_no_request_reached_is_said_only_where_none_did(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "ask('/v1/nothing', b'{}')") == 3
    told = capfd.readouterr()
    assert "no request was answered" in told.err
    assert "HTTP 404 /v1/nothing" in told.out
    assert run(tmp_path, "") == 3
    assert "no request reached the endpoint" in capfd.readouterr().err


def test_a_script_that_fits_no_tool_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tools = "import json\nb = json.loads(body)\nb['tools'] = [{'name': 'odd', 'input_schema': {'type': 'object'}}]\n"
    assert run(tmp_path, tools + "ask('/v1/messages', json.dumps(b).encode())") == 0
    assert "no call of the script fitted 1 request: the tools offered were odd" in capfd.readouterr().err
