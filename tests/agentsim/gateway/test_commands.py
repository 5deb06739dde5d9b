"""``serve``, ``exec`` and ``record`` as people run them: what they print, and how they exit."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentsim.cli import main
from tests.agentsim.gateway.serving import MODEL, WORDS

pytestmark = pytest.mark.loopback

AGENT = """
import json, os, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
assert os.environ["OPENAI_BASE_URL"] == os.environ["AGENTSIM_URL"] + "/v1"
heads = sys.argv[1].split(",")
for turn, head in enumerate(heads):
    body = {"model": "claude-sonnet-4-6", "max_tokens": 50,
            "system": [{"type": "text", "text": head * 3000, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": str(n)} for n in range(turn + 1)]}
    headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
sys.exit(int(sys.argv[2]))
"""
"""A harness: a request for each word, which makes up its system text."""


@pytest.fixture
def agent(tmp_path: Path) -> str:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return str(path)


def run(agent: str, heads: str, *options: str, status: int = 0) -> int:
    return main(["exec", *options, "--", sys.executable, agent, heads, str(status)])


def test_exec_shows_each_request_and_its_verdict(agent: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(agent, "one ,one ,two ") == 0, "without a budget nothing can be broken"
    page = capfd.readouterr().out
    assert "3 requests" in page
    assert "AS110" in page, "the system text was edited"


def test_exec_exits_as_check_does(agent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(agent, "one ,one ", "--max-misses", "0") == 0
    assert "All budgets held" in capfd.readouterr().out
    assert run(agent, "one ,two ", "--max-misses", "0") == 1
    assert "Budget broken" in capfd.readouterr().out
    assert run(agent, "one ,two ", "--forbid", "AS2xx") == 0
    budget = tmp_path / "agentsim.toml"
    budget.write_text('[[budget]]\nname = "prefix"\ntraces = ["elsewhere/*.jsonl"]\nforbid = ["AS1xx"]\n')
    assert run(agent, "one ,two ", "--budget", str(budget)) == 1
    assert run(agent, "one ", "--budget", str(budget)) == 0
    budget.write_text("[[budget]]\nmax-mises = 1\n")
    assert run(agent, "one ", "--budget", str(budget)) == 2
    assert f"{budget}:2" in capfd.readouterr().err


def test_exec_fails_on_what_was_named(agent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(agent, "one ,one ", "--fail-on", "miss") == 0
    assert run(agent, "one ,two ", "--fail-on", "miss") == 1
    assert run(agent, "one ,two ", "--fail-on", "AS110") == 1
    assert run(agent, "one ,two ", "--fail-on", "AS2xx", "--fail-on", "budget", "--max-misses", "1") == 0
    capfd.readouterr()
    assert run(agent, "one ,two ", "--fail-on", "nothing", "--max-misses", "0") == 0
    assert "Budget broken" in capfd.readouterr().out, "told all the same"
    for wrong in (("anything",), ("budget",), ("AS999x",), ("nothing", "--fail-on", "miss")):
        assert run(agent, "one ", "--fail-on", *wrong) == 2, wrong


def test_a_command_that_fails_cannot_be_judged(agent: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(agent, "one ", "--max-misses", "0", status=7) == 3
    assert "ended with 7" in capfd.readouterr().err
    assert run(agent, "one ,two ", "--max-misses", "0", status=7) == 1, "a broken budget counts first"
    assert main(["exec", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]) == 3
    assert "no request reached the endpoint, and the command ended with 137" in capfd.readouterr().err
    assert main(["exec", "--", "/no/such/program"]) == 2
    assert "cannot be run" in capfd.readouterr().err


def test_exec_keeps_a_trace_and_overwrites_none(agent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "run.jsonl"
    assert run(agent, "one ,one ", "--trace", str(trace)) == 0
    assert run(agent, "one ", "--trace", str(trace)) == 2
    assert run(agent, "one ", "--trace", str(trace), "--force") == 0
    assert run(agent, "one ", "--trace", str(tmp_path / "none" / "run.jsonl")) == 2
    trace.chmod(0o644)
    assert run(agent, "one ,one ", "--trace", str(trace), "--force") == 0
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    os.mkfifo(tmp_path / "pipe")
    for special in (str(tmp_path / "pipe"), str(tmp_path), "/dev/null"):
        assert run(agent, "one ", "--trace", special, "--force") == 2
    capfd.readouterr()
    assert main(["check", str(trace), "--max-misses", "0"]) == 0
    assert main(["replay", str(trace)]) == 0


def test_exec_answers_by_script_and_by_recording(agent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "loop.toml"
    script.write_text('after = "Over."\n[[turn]]\ntext = "Hello."\n')
    assert run(agent, "one ", "--script", str(script), "--first-token", "1", "--rate", "1000") == 0
    script.write_text('[[turn]]\ntxt = "Hello."\n')
    assert run(agent, "one ", "--script", str(script)) == 2
    assert "no such key; did you mean text?" in capfd.readouterr().err
    assert run(agent, "one ", "--script", str(script), "--replay", str(script)) == 2
    assert run(agent, "one ", "--replay", "traces/samples/atlas-14.usage.jsonl") == 3
    assert run(agent, "one ", "--fault", "418@1") == 2
    assert run(agent, "one ", "--fault", "529@1", status=0) == 3, "the harness failed"


@contextmanager
def program(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """agentsim in a process of its own, and the port it says."""
    started = subprocess.Popen(
        [sys.executable, "-m", "agentsim", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", started.stdout.readline())
        assert found is not None, started.communicate(timeout=10)
        yield started, int(found[1])
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=10)


def ask(port: int, *texts: str) -> None:
    import httpx2

    body = {
        "model": MODEL,
        "max_tokens": 50,
        "system": [{"type": "text", "text": texts[0] + WORDS, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": text} for text in texts[1:]],
    }
    with httpx2.Client(trust_env=False) as client:
        assert client.post(f"http://127.0.0.1:{port}/v1/messages", json=body).status_code == 200


@pytest.mark.parametrize(
    ("head", "ending", "code"), [("a", signal.SIGINT, 0), ("b", signal.SIGTERM, 1), ("b", signal.SIGINT, 1)]
)
def test_serve_judges_when_it_is_stopped(tmp_path: Path, head: str, ending: signal.Signals, code: int) -> None:
    trace = tmp_path / "run.jsonl"
    with program("serve", "--port", "0", "--trace", str(trace), "--fail-on", "AS1xx") as (server, port):
        ask(port, "a", "one")
        ask(port, head, "one", "two")
        assert trace.read_bytes().count(b"\n") == 3, "a header and two requests, while it runs"
        server.send_signal(ending)
        out, err = server.communicate(timeout=20)
        assert server.returncode == code, err
    assert ("Budget broken" in out) is bool(code)
    assert main(["check", str(trace), "--forbid", "AS1xx"]) == code


def test_serve_survives_being_killed(tmp_path: Path) -> None:
    """What was answered is on the disk; nothing tidies up."""
    trace = tmp_path / "run.jsonl"
    with program("serve", "--port", "0", "--trace", str(trace)) as (server, port):
        ask(port, "a", "one")
        ask(port, "a", "one", "two")
        server.send_signal(signal.SIGKILL)
        server.wait(10)
    assert main(["check", str(trace), "--max-misses", "0"]) == 0


def test_a_port_that_is_taken_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with program("serve", "--port", "0") as (_, port):
        assert main(["serve", "--port", str(port)]) == 2
    assert f"port {port} cannot be used" in capfd.readouterr().err


def test_record_runs_a_command_and_says_what_it_kept(
    agent: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "recorded.jsonl"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-key-0123456789")
    with program("serve", "--port", "0") as (_, port):
        words = ["record", "--upstream", f"http://127.0.0.1:{port}", "--trace", str(trace)]
        child = ["--", sys.executable, agent]
        assert main([*words, *child, "one ,one ", "0"]) == 0
        assert "2 requests recorded" in capfd.readouterr().err
        assert main([*words, *child, "one ", "0"]) == 2, "it exists"
        assert main([*words, "--force", *child, "one ", "5"]) == 3
        assert "ended with 5" in capfd.readouterr().err
        assert main([*words, "--force", "--", sys.executable, "-c", ""]) == 3
        assert "no request was recorded" in capfd.readouterr().err
        assert main([*words[:3], *child, "one ", "0"]) == 2, "no --trace"
    assert b"canary-key" not in trace.read_bytes()
    for wrong in ("api.anthropic.com", "ftp://x", "https://user:key@host", "https://host?key=1", "https://[x"):
        assert main(["record", "--upstream", wrong, "--trace", str(tmp_path / "x.jsonl")]) == 2


def test_record_until_it_is_stopped(tmp_path: Path) -> None:
    trace = tmp_path / "recorded.jsonl"
    with program("serve", "--port", "0") as (_, port):
        upstream = f"http://127.0.0.1:{port}"
        with program("record", "--upstream", upstream, "--port", "0", "--trace", str(trace)) as (recorder, own):
            ask(own, "a", "one")
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=20)
            assert recorder.returncode == 0, err
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [row["record"] for row in rows] == ["session", "request"]


def test_the_child_gets_dummies_and_no_way_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentsim.gateway.serve.child_process import emulated_environment

    for name in ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.setenv(name, "real")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    found = emulated_environment("http://127.0.0.1:1")
    assert "real" not in found.values()
    assert found["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert "127.0.0.1" in found["NO_PROXY"]
    assert found["PATH"] == os.environ["PATH"]
