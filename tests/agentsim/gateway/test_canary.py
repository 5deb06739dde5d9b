"""A key in every header, in the query, in the body and in the path: it is found nowhere afterwards.

The programs run as people run them, so that everything they print and every file they leave is looked at.
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agentsim.gateway.serving import MODEL

pytestmark = pytest.mark.loopback
pytest.importorskip("starlette")

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-ant-api03-CanaryCanary0123456789-abcdef"
CANARY = "CanaryCanary"

READ_HERE = sorted(
    {
        name
        for path in (ROOT / "agentsim" / "gateway").glob("*.py")
        for name in re.findall(r'b"([a-z]+(?:-[a-z]+)*)"', path.read_text(encoding="utf-8"))
    }
    - {"host", "content-type", "content-length", "content-encoding", "origin", "transfer-encoding", "connection"}
    - {"expect", "keep-alive", "upgrade", "te", "trailer"}
)
"""All names of headers that the gateway's code mentions, but those that rule the connection itself."""

OTHERS = [
    "authorization",
    "x-api-key",
    "api-key",
    "cookie",
    "proxy-authorization",
    "user-agent",
    "accept",
    "referer",
    "anthropic-version",
    "anthropic-beta",
    "openai-organization",
    "openai-project",
    "x-request-id",
    "x-claude-code-session-id",
    "session_id",
    "x-forwarded-for",
    "traceparent",
    "x-anything-else",
]

BODIES: list[dict[str, Any]] = [
    {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": f"my key is {KEY}"}]},
    {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "metadata": {"user_id": KEY}},
    {"model": "gpt-5.1", "messages": [{"role": "user", "content": "go"}], "input": "go", "prompt_cache_key": KEY},
    {"model": KEY, "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "input": "go"},
    {"model": MODEL, "max_tokens": KEY, "messages": KEY},
]

PATHS = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/compact",
    f"/v1/responses/{KEY}/cancel",
    f"/{KEY}",
    f"/v1?key={KEY}",
)


def ask(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, str(answer.headers)
    finally:
        connection.close()


def bombard(port: int) -> int:
    """Every header by itself, then all of them with every body at every path. How many were answered with 200."""
    fine = 0
    names = sorted({*READ_HERE, *OTHERS})
    good = json.dumps({**BODIES[1], "metadata": {"user_id": "u"}}).encode()
    asks = [("/v1/messages", good, {name: f"Bearer {KEY}"}) for name in names]
    asks += [("/v1/messages", good, {name: KEY}) for name in names]
    everything = dict.fromkeys(names, KEY)
    asks += [(path, json.dumps(body).encode(), everything) for body in BODIES for path in PATHS]
    asks += [(path, b'{"' + KEY.encode(), everything) for path in PATHS]
    for path, body, headers in asks:
        status, told = ask(port, path, body, headers)
        assert status < 500, (path, status)
        assert CANARY not in told
        fine += status == 200
    return fine


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.Popen(
        [sys.executable, "-m", "agentsim", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def port_of(program: subprocess.Popen[str]) -> int:
    assert program.stdout is not None
    found = re.search(r"127\.0\.0\.1:(\d+)", program.stdout.readline())
    assert found is not None
    return int(found[1])


def look_everywhere(folder: Path, *texts: str) -> None:
    for text in texts:
        assert CANARY not in text
    for path in folder.rglob("*"):
        assert CANARY not in path.name
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("kept", [(), ("--fingerprint",)])
def test_serve(tmp_path: Path, kept: tuple[str, ...]) -> None:
    trace = tmp_path / "trace.jsonl"
    program = started(tmp_path, "serve", "--port", "0", "--trace", str(trace), "--fail-on", "miss", *kept)
    try:
        assert bombard(port_of(program)) > 50
        look_everywhere(tmp_path)
    finally:
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=30)
    assert program.returncode in (0, 1, 3), err
    assert trace.stat().st_size > 1000
    look_everywhere(tmp_path, out, err)
    shown = started(tmp_path, "replay", str(trace))
    out, err = shown.communicate(timeout=30)
    look_everywhere(tmp_path, out, err)


def test_record(tmp_path: Path) -> None:
    up, down = tmp_path / "up", tmp_path / "down"
    up.mkdir()
    down.mkdir()
    server = started(up, "serve", "--port", "0", "--trace", str(up / "trace.jsonl"))
    try:
        upstream = f"http://127.0.0.1:{port_of(server)}"
        trace = down / "trace.jsonl"
        recorder = started(down, "record", "--upstream", upstream, "--port", "0", "--trace", str(trace))
        try:
            assert bombard(port_of(recorder)) > 50
            look_everywhere(tmp_path)
        finally:
            recorder.send_signal(signal.SIGINT)
            out, err = recorder.communicate(timeout=30)
        look_everywhere(tmp_path, out, err)
    finally:
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    look_everywhere(tmp_path, out, err)
    assert trace.stat().st_size > 1000
