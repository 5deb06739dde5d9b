"""Claude Code itself, in a terminal, against the emulated provider: what was foretold beside what came.

Opt in with ``AGENTSIM_HARNESSES=FOLDER pytest -m harness``; see tests/agentsim/gateway/test_harnesses.py. Needs tmux.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsim.core.session import Request
from agentsim.outlook.next_acts import Outlook, next_acts
from agentsim.traces.readers.claude_code import read_sessions

pytestmark = [pytest.mark.harness, pytest.mark.slow]

FOLDER = os.environ.get("AGENTSIM_HARNESSES")
ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
after = "All done."
[[turn]]
text = "I will look."
[[turn.call]]
tool = "Bash"
input = { command = "echo one", description = "one" }
[[turn]]
text = "A long answer."
pad = 4000
[[turn]]
text = "A short one."
repeat = 20
"""


class Terminal:
    """Claude Code in a pane of tmux."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "proj"
        self.project.mkdir()
        (self.home / ".claude").mkdir(parents=True)
        trusted = {"hasTrustDialogAccepted": True, "allowedTools": []}
        state = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(self.project): trusted}}
        (self.home / ".claude.json").write_text(json.dumps(state))
        self.settings = self.home / ".claude" / "settings.json"
        self.settings.write_text('{"permissions": {"allow": ["Bash"]}}\n')
        self.environment = {
            **os.environ,
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-test-000000000000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "AGENTSIM_STATE": str(folder / "state"),
            "AGENTSIM_GUARD": str(folder / "guard.toml"),
            "NO_COLOR": "1",
        }

    def ours(self, *words: str) -> str:
        done = [sys.executable, "-m", "agentsim", *words]
        return subprocess.run(done, env=self.environment, capture_output=True, text=True, check=True).stdout

    def tmux(self, *words: str) -> str:
        socket = str(self.folder / "tmux")
        done = subprocess.run(
            ["tmux", "-S", socket, *words], env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    def start(self) -> None:
        program = f"cd {self.project}; exec {FOLDER}/node_modules/.bin/claude"
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", program)
        self.until(lambda: "use this API key" in self.shown())
        self.keys("Up", "Enter")
        self.until(lambda: "❯" in self.shown() and "API key" not in self.shown())

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.8)

    def shown(self) -> str:
        return self.tmux("capture-pane", "-p", "-J")

    def until(self, happens: Callable[[], bool], seconds: int = 60) -> None:
        end = time.monotonic() + seconds
        while not happens():
            assert time.monotonic() < end, self.shown()
            time.sleep(0.5)

    def log(self) -> Path:
        logs = (self.home / ".claude" / "projects").glob("*/*.jsonl")
        return max(logs, key=lambda path: path.stat().st_mtime, default=self.home / "none")

    def rows(self) -> list[Request]:
        return list(read_sessions([str(self.log())])[0].requests) if self.log().exists() else []

    def outlook(self, *models: str) -> Outlook:
        return next_acts(self.log(), now=time.time_ns(), models=models)

    def ask(self, words: str) -> Request:
        """Type a prompt, and wait for the row that it makes."""
        before = len(self.rows())
        self.keys(words, "Enter")
        self.until(lambda: len(self.rows()) > before)
        time.sleep(3)
        return self.rows()[before]


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Terminal]:
    if not FOLDER or not (Path(FOLDER) / "node_modules" / ".bin" / "claude").exists() or shutil.which("tmux") is None:
        pytest.skip("needs AGENTSIM_HARNESSES with Claude Code, and tmux")
    (tmp_path / "script.toml").write_text(SCRIPT)
    serve = [sys.executable, "-m", "agentsim", "serve", "--port", "0", "--script", str(tmp_path / "script.toml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[2]
        terminal = Terminal(tmp_path, url)
        try:
            yield terminal
        finally:
            terminal.tmux("kill-server")
            server.send_signal(signal.SIGINT)
            server.wait(20)


def equals(outlook: Outlook, name: str, row: Request) -> None:
    """The row reads what was foretold, and pays anew what was foretold and what was typed."""
    act = outlook.act(name)
    assert act is not None
    expected, usage = act.steps[0].expected, row.usage
    assert usage is not None
    assert usage.read == expected.read, (name, expected, usage)
    typed = (usage.total_input or 0) - (expected.total_input or 0)
    assert 0 <= typed < 1_500, (name, expected, usage)


def test_what_is_foretold_comes_and_the_line_says_it(claude: Terminal) -> None:
    before = claude.settings.read_text()
    claude.ours("guard", "install", "--yes")
    claude.start()
    claude.ask("look around")
    claude.until(lambda: len(claude.rows()) == 2)
    claude.until(lambda: "cold = $" in claude.shown())
    outlook = claude.outlook()
    equals(outlook, "go-on", claude.ask("tell me more"))
    model = claude.rows()[-1].model

    (claude.folder / "guard.toml").write_text("[ask]\ntokens = 1000\n")
    outlook = claude.outlook("claude-sonnet-5-5")
    claude.keys("/model sonnet", "Enter")
    claude.until(lambda: "agentsim: claude-sonnet-5-5 has nothing of this conversation" in claude.shown())
    claude.keys("Enter")
    claude.until(lambda: "Set model to Sonnet" in claude.shown())
    (claude.folder / "guard.toml").unlink()
    equals(outlook, "other-model", claude.ask("and now"))
    claude.until(lambda: "last miss: model, $" in claude.shown())
    there = claude.outlook(model)
    claude.keys("/model opus", "Enter")
    claude.until(lambda: "Switch model?" in claude.shown())
    claude.keys("Enter")
    claude.until(lambda: "Set model to Opus" in claude.shown())
    equals(there, "other-model", claude.ask("back again"))

    (claude.folder / "guard.toml").write_text('[budget]\nsession = "0.01"\n')
    claude.keys("one more", "Enter")
    claude.until(lambda: "stopped by the budget" in claude.shown())

    kept = next((claude.folder / "state" / "claude-code").glob("*.kept.jsonl")).read_text()
    last = json.loads(kept.splitlines()[-1])
    usage = claude.rows()[-1].usage
    assert usage is not None
    assert last["cold"] == (usage.read or 0) + (usage.write or 0)
    assert last["causes"] == ["model_changed"]
    assert "look around" not in kept
    assert "failures none" in claude.ours("guard", "status")
    claude.ours("guard", "undo", "--yes")
    left = json.loads(claude.settings.read_text())
    left.pop("model", None)  # Claude Code writes the chosen model there itself
    assert left == json.loads(before)
