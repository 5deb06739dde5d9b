"""Commands of the pages are run, on files that stand for those that the pages name. None may be a wrong command line.

What opens a terminal or a socket, runs other programs, or takes minutes is left out by name; that it exists, with its
options, is what test_pages asks of all of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import agentsim.traces.samples
from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.docs.test_pages import PAGES, command_lines
from tests.traces.codex.rollouts import three_calls

SAMPLES = Path(agentsim.traces.samples.__file__).parent

NOT_HERE = {
    "tui": "needs a terminal",
    "serve": "listens",
    "exec": "runs other programs",
    "record": "listens",
    "mcp": "listens",
    "conform": "runs other programs",
    "tune": "writes settings of a harness, and has too little to choose from in a sample",
    "guard": "writes settings of a harness",
    "engine": "needs a model, or takes minutes",
    "run": "takes minutes, or a scenario of the reader's",
    "fleet sweep": "starts a cluster",
    "fleet watch": "starts a cluster",
    "rules probe": "asks a provider",
    "rules live": "asks a provider",
    "rules calibrate": "has too little to fit in a sample",
    "scenario fit": "has too little to fit in a sample",
    "check --against": "needs a repository",
    "compare --policy ttl-5m": "names no path: a mention",
    "baseline": "needs a configuration",
    "context": "has a test of its own",
}
STANDS_FOR = {
    "PATH": "session.jsonl",
    "FILE": "session.jsonl",
    "IN": "session.jsonl",
    "OUT": "out.jsonl",
    "CODE": "AS301",
    "N": "2",
    "94fab1a1": "3f0c7d52",
}
PLACEHOLDERS = {"NAME", "MODEL", "SCENARIO", "TRACE", "COMMAND"}


def lines() -> list[str]:
    """Every command line of the pages, once, without those that are left out."""
    found: dict[str, None] = {}
    for page in PAGES:
        for words in command_lines(page.read_text(encoding="utf-8")):
            left_out = any(" ".join(words[1:]).startswith(name) for name in NOT_HERE)
            mentioned = len(words) == 2 and words[1] in ("diff", "compare", "agree", "check")
            others = PLACEHOLDERS.intersection(words) or any(word.startswith(("<(", "...")) for word in words)
            if not (left_out or mentioned or others or (words[1:3] == ["trace", "convert"] and len(words) < 5)):
                found["\t".join(words)] = None
    return sorted(found)


@pytest.fixture
def place(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages name, and a home with logs of two harnesses."""
    for name in ("session.jsonl", "run.jsonl", "trace.jsonl", "pi.jsonl", ".claude-trace/log-2026-01-05.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(SAMPLES / ("claude-code.jsonl" if name != "run.jsonl" else "atlas-14.jsonl"), tmp_path / name)
    (tmp_path / "traces" / "samples").mkdir(parents=True)
    for sample in SAMPLES.glob("*.jsonl"):
        shutil.copy(sample, tmp_path / "traces" / "samples")
    (own_home / ".claude" / "projects" / "my-project").mkdir(parents=True)
    shutil.copy(SAMPLES / "claude-code.jsonl", own_home / ".claude" / "projects" / "my-project" / "a.jsonl")
    (own_home / ".codex" / "sessions").mkdir(parents=True)
    (own_home / ".codex" / "sessions" / "rollout.jsonl").write_bytes(three_calls().bytes())
    bodies = own_home / "bodies"
    bodies.mkdir()
    shutil.copy(SAMPLES / "claude-trace.jsonl", bodies / "log.jsonl")
    rules = '[provider]\nname = "acme"\n'
    for name in ("acme.toml", "mine.toml"):
        (tmp_path / name).write_text(rules)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_many() -> None:
    assert len(lines()) > 40


@pytest.mark.parametrize("line", lines(), ids=lambda line: line.replace("\t", " ")[:70])
def test_it_runs(line: str, place: Path, own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [STANDS_FOR.get(word, word.replace("~", str(own_home), 1)) for word in line.split("\t")[1:]]
    if "--rules" in words or "acme.toml" in words or any("fleet/" in word for word in words):
        pytest.skip("needs a file of the reader's")
    if words[:2] == ["trace", "convert"]:
        (place / "trace.jsonl").unlink()
    code = main(words)
    err = capsys.readouterr().err
    assert code not in (ExitCode.USAGE, ExitCode.DEFECT), err
