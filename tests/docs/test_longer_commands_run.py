"""The commands of all pages that test_commands_run leaves out, each run as far as that goes here.

What listens is started and stopped, the app is opened and left, another program's place is taken by a small one, and
what asks a provider must refuse without its key. Each command line of the pages must be of one of these kinds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.docs import test_commands_run
from tests.docs.test_commands_run import SAMPLES, STANDS_FOR, place  # noqa: F401 - a fixture
from tests.docs.test_pages import ROOT, command_lines
from tests.tui.terminal import Terminal

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROVIDER_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")

MENTIONS = re.compile(
    r"agentsim (agree|check|compare|context|diff|exec|mcp|record|engine (bench|capacity|granularity|lab)"
    r"|fleet (sweep|watch)|rules (calibrate|probe|live)|tune verify|trace convert( --fingerprint)?|guard statusline"
    r"|compare --policy ttl-5m|engine lab (NAME|[a-z0-9-]+)|conform HARNESS|rules live --live|rules probe --live"
    r"|replay TRACE --backend engine|diff <\(zcat before.jsonl.gz\) after.jsonl|engine lab --all --md report.md"
    r"|run fanout-2x2 --backend engine|conform claude-code codex|conform --markdown docs/conformance.md)"
)
"""A command that is named without what it needs, or that other tests run: the experiments of the lab
(tests/agentsim/commands/test_lab.py), real harnesses (tests/agentsim/conform), a pipe of the shell, many minutes
with a real model (tests/engine)."""

LISTENS = re.compile(r"agentsim (serve|record --|tui .*--web|tui --web)")
IN_A_TERMINAL = re.compile(r"agentsim tui")
RUNS_ANOTHER = re.compile(r"agentsim (exec|conform) .*-- ")
ASKS_A_PROVIDER = re.compile(r"agentsim rules (probe|live) .*--live")
READS_INPUT = re.compile(r"agentsim (guard (hook|statusline)|mcp)")
MORE_STANDS_FOR = {
    "NAME": "ttl-1h",
    "MODEL": "config.json",
    "SCENARIO": "fanout-2x2",
    "HARNESS": "codex",
    "origin/main": "HEAD",
    "/var/lib/node_exporter/agentsim.prom": "agentsim.prom",
    "agentsim/rules/providers/NAME.toml": "acme.toml",
}


def lines() -> list[str]:
    """The command lines that the other test does not run."""
    done = set(test_commands_run.lines())
    found = {"\t".join(words) for page in PAGES for words in command_lines(page.read_text(encoding="utf-8"))}
    return sorted(line for line in found - done if not MENTIONS.fullmatch(line.replace("\t", " ")))


def explained(line: str) -> bool:
    """Whether it is the command that each page of a cause names."""
    return line.startswith("agentsim\texplain\tAS")


@pytest.fixture
def more(place: Path, own_home: Path) -> Path:  # noqa: F811 - the fixture above
    """What longer commands name besides: a scenario, a configuration, a repository, a folder of sweeps."""
    for name in ("mine.toml", "scenario.toml"):
        shutil.copy(ROOT / "scenarios" / "fanout-2x2.toml", place / name)
    shutil.copy(SAMPLES / "atlas-14.jsonl", place / "run.jsonl")
    (place / "agentsim.toml").write_text(
        'baseline = "kept.json"\n[[budget]]\nname = "b"\ntraces = "session.jsonl"\nmax-cost = "100"\n'
    )
    (place / "loop.toml").write_text('after = "done"\n[[turn]]\ntext = "done"\n')
    (place / "config.json").write_text(
        '{"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,'
        ' "model_type": "llama", "torch_dtype": "float16"}'
    )
    (place / "logs").mkdir()
    shutil.copy(SAMPLES / "claude-code.jsonl", place / "logs")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "session.jsonl", "agentsim.toml"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=place, check=True)
    return place


def stood_in(line: str, home: Path) -> list[str]:
    """The words of a line, with files that are there."""
    stands = STANDS_FOR | MORE_STANDS_FOR
    words = [stands.get(word, word.replace("~", str(home), 1)) for word in line.split("\t")[1:]]
    if words[:2] == ["rules", "show"]:
        words[2:] = ["anthropic"]
    if words[:2] == ["guard", "install"]:
        words.append("--yes")
    if "--" in words:
        words[words.index("--") + 1 :] = ["true"]
    return words


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in PROVIDER_KEYS}
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "TZ": "UTC"}


@pytest.mark.harness
@pytest.mark.parametrize(
    "line", [line for line in lines() if not explained(line)], ids=lambda line: line.replace("\t", " ")[:70]
)
def test_it_runs(line: str, more: Path, own_home: Path) -> None:
    words, shown = stood_in(line, own_home), line.replace("\t", " ")
    if LISTENS.match(shown):
        _starts_and_stops(words, more, own_home)
    elif IN_A_TERMINAL.match(shown):
        _opens_and_leaves(words[1:], more)
    else:
        given = "{}\n" if READS_INPUT.match(shown) else ""
        done = subprocess.run(
            [sys.executable, "-m", "agentsim", *words],
            cwd=more,
            env=environment(own_home),
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode in ExitCode.__members__.values(), done.stderr
        assert done.returncode != ExitCode.DEFECT, done.stderr
        if ASKS_A_PROVIDER.match(shown):
            assert done.returncode != ExitCode.OK
            assert re.search("key|KEY|agree to the cost", done.stderr), done.stderr
        else:
            assert done.returncode != ExitCode.USAGE, done.stderr


def test_each_cause_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    found = [line for line in lines() if explained(line)]
    assert len(found) > 40
    for line in found:
        assert main(line.split("\t")[1:]) == ExitCode.OK, line
        assert line.split("\t")[2] in capsys.readouterr().out


def _starts_and_stops(words: list[str], folder: Path, home: Path) -> None:
    words = [word if words[at - 1] != "--port" else "0" for at, word in enumerate(words)]
    (folder / "run.jsonl").unlink()  # it is written
    if "--web" in words:
        words = [word for at, word in enumerate(words) if word != "--port" and words[at - 1] != "--port"]
        words += ["--port", "18013"]
    command = [sys.executable, "-m", "agentsim", *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        if "--" not in words:
            assert "127.0.0.1" in told, told
            process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        # What recorded nothing says so (3).
        assert process.wait(30) in (ExitCode.OK, ExitCode.UNREADABLE, ExitCode.INTERRUPTED), told + rest
        assert "Traceback" not in rest


def _opens_and_leaves(words: list[str], folder: Path) -> None:
    words = [str(folder / word) if not word.startswith("-") else word for word in words]
    terminal = Terminal(words)
    terminal.until(b"Help")
    terminal.press("\x11", 2)
    assert terminal.wait() == ExitCode.OK
