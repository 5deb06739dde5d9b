"""A harness as a child: no real keys, its own group, nothing left behind; and a trace that is one program's alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.core.key_shapes import without_keys
from agentsim.gateway.serve.child_process import emulated_environment
from agentsim.gateway.trace_writing import TraceFile, TraceTaken
from tests.agentsim.gateway.serving import serving

KEYS = (
    "sk-ant-api03-" + "a1B2" * 8,
    "AIza" + "Sy0-_" * 7,
    "ghp_" + "A1b2" * 9,
    "github_pat_" + "A1b2" * 9,
    "AKIA" + "ABCD" * 4,
    "xoxb-" + "123456789012-" * 2 + "abcdefABCDEF",
    "gsk_" + "a1B2" * 8,
    "hf_" + "aBcD" * 9,
    "glpat-" + "a1B2" * 5,
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".c2lnbmF0dXJl",
    "-----BEGIN RSA " + "PRIVATE KEY-----\\nMIIEow\\nabc=\\n-----END RSA PRIVATE KEY-----",
)
HARMLESS = (
    "a task-0123456789abcdef0",
    "sk-learn-is-a-library",
    "AIzawa is a name",
    "AKIAs in the plural",
    "the PRIVATE KEY of success",
    "eyJ is how JSON begins in base64",
    "ghp_short",
    "hf_hub_download",
)


@pytest.mark.parametrize("key", KEYS, ids=[key[:8] for key in KEYS])
def test_a_key_of_any_common_shape_is_removed(key: str) -> None:
    line = f'{{"text":"before {key} after"}}'.encode()
    assert without_keys(line) == b'{"text":"before [removed] after"}'


def test_what_is_no_key_stays() -> None:
    for words in HARMLESS:
        assert without_keys(words.encode()) == words.encode()


def test_no_real_key_of_any_provider_reaches_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("GROQ_API_KEY", "GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    for name in (*names, "XAI_API_KEY"):
        monkeypatch.setenv(name, "real")
    monkeypatch.setenv("HARMLESS", "kept")
    found = emulated_environment("http://127.0.0.1:1", ["XAI_API_KEY"])
    assert "real" not in [found.get(name) for name in names]
    assert (found["XAI_API_KEY"], found["HARMLESS"]) == ("real", "kept")


def test_a_trace_is_one_programs_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    first = TraceFile(str(path))
    with pytest.raises(FileExistsError):
        TraceFile(str(path))
    with pytest.raises(TraceTaken):
        TraceFile(str(path), overwrite=True)
    first.finish(lambda id: pytest.fail("no session"))
    assert not path.exists(), "nothing was written"


@pytest.mark.loopback
def test_two_servers_on_one_trace_are_an_error_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as served:
        child = [sys.executable, "-c", ""]
        assert main(["exec", "--trace", str(served.trace), "--force", "--", *child]) == 2
        assert "another program writes this trace" in capfd.readouterr().err
        assert main(["exec", "--trace", str(served.trace), "--", *child]) == 2


LEAVES = """
import os, subprocess, sys, time, urllib.request
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1], "w").write(str(child.pid))
if len(sys.argv) > 2:
    time.sleep(60)
"""


def gone(pid: int) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.loopback
def test_grandchildren_end_with_the_run(tmp_path: Path) -> None:
    program = tmp_path / "leaves.py"
    program.write_text(LEAVES)
    assert main(["exec", "--", sys.executable, str(program), str(tmp_path / "pid")]) == 3
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.loopback
def test_ctrl_c_is_130_and_leaves_nothing(tmp_path: Path) -> None:
    program = tmp_path / "leaves.py"
    program.write_text(LEAVES)
    pid, temporary = tmp_path / "pid", tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "agentsim", "exec", "--", sys.executable, str(program), str(pid), "wait"]
    run = subprocess.Popen(words, env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode == 130
    assert gone(int(pid.read_text()))
    assert not [path for path in temporary.iterdir() if path.name.startswith("agentsim-")]
