"""``agentsim trace formats``."""

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.hostile import claude_code_log


def test_all_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "--json"]) == ExitCode.OK
    names = [entry["name"] for entry in json.loads(capsys.readouterr().out)["formats"]]
    assert {"claude-code", "agentsim/1"} <= set(names)
    assert main(["formats"]) == ExitCode.OK
    page = capsys.readouterr().out
    for name in names:
        assert name in page


def test_a_format_is_told_from_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = claude_code_log(tmp_path, "no-ending", "x")
    other = tmp_path / "session.jsonl"
    other.write_text("hello\n")
    assert main(["formats", "--json", str(log), str(other)]) == ExitCode.UNREADABLE
    files = json.loads(capsys.readouterr().out)["files"]
    assert [entry["format"] for entry in files] == ["claude-code", None]
    assert main(["formats", str(log), str(other)]) == ExitCode.UNREADABLE
    assert "not a known format" in capsys.readouterr().out
