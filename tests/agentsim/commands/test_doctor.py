"""``agentsim doctor``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from agentsim.core import extras
from agentsim.core.extras import EXTRAS, how_to_install, missing_modules
from agentsim.report.exits import ExitCode
from tests.agentsim.hostile import claude_code_log

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
FOR_BUILDERS = {"engine-test", "test", "docs", "bench", "dev", "all", "lint"}


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["doctor", "--json", *arguments]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_logs_others_and_broken_ones_each_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claude_code_log(tmp_path)
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "broken.jsonl").write_text("no log\n")
    (place,) = document(capsys, str(tmp_path))["places"]
    assert place["formats"] == {"claude-code": 1}
    assert place["other_files"] == 1
    assert [problem["file"] for problem in place["problems"]] == [str(tmp_path / "broken.jsonl")]
    assert main(["doctor", str(tmp_path)]) == ExitCode.OK
    page = " ".join(capsys.readouterr().out.split())
    assert "1 file of claude-code, 1 of no log's format, and passed over" in page
    assert "broken.jsonl:ofnoknownformat" in page.replace(" ", ""), "a long path is broken where it has to be"


def test_harnesses_that_are_not_there_are_named(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = own_home / ".codex" / "sessions"
    folder.mkdir(parents=True)
    found = document(capsys)
    assert [place["harness"] for place in found["places"]] == ["Codex"]
    assert "Claude Code" in found["not_there"]
    assert "Codex" not in found["not_there"]


def test_an_extra_that_is_missing_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "textual_serve" else object())
    assert missing_modules("web") == ("textual_serve",)
    assert missing_modules("vcr") == ()
    assert main(["doctor"]) == ExitCode.OK
    assert "pip install 'agentsim-cache[web]'" in capsys.readouterr().out


def test_extras_are_those_of_the_project() -> None:
    with PROJECT.open("rb") as file:
        project = tomllib.load(file)["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - FOR_BUILDERS
    assert how_to_install("web") == f"pip install '{project['name']}[web]'"


def test_nobody_says_it_in_other_words() -> None:
    for path in (PROJECT.parent / "agentsim").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "install the extra" not in text, path
        assert "[" not in text.partition("pip install 'agentsim-cache")[2][:1], path
