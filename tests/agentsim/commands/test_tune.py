"""``agentsim tune``: from logs to a setting, to its proof, and back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.guard.installation import SettingsPlan
from agentsim.report.exits import ExitCode
from agentsim.traces.readers.agentsim1.trace_writer import write
from tests.agentsim.tuning.paused_sessions import paused

LONG, QUICK = 900, 30
PAUSES = [QUICK, LONG] * 5


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENTSIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(9):
        write(paused(number, PAUSES), logs / f"{number}.jsonl")
    return tmp_path


def words(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


ALL = ("--since", "2020-01-01")


def test_from_logs_to_a_setting_and_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    text = '{\n  "model": "opus" // mine\n}\n'
    settings.write_text(text)
    assert main(["tune", "logs", *ALL]) == ExitCode.OK
    assert 'Set env.ENABLE_PROMPT_CACHING_1H = "1" It will save ' in words(capsys)
    assert settings.read_text() == text
    assert main(["tune", "verify", "logs"]) == ExitCode.USAGE, "nothing was written yet"
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.OK
    assert '+ "ENABLE_PROMPT_CACHING_1H": "1"' in words(capsys)
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.USAGE
    assert "settings of an earlier" in capsys.readouterr().err
    # A year later, under what was written.
    assert main(["tune", "verify", "logs"]) == ExitCode.UNREADABLE, "no session since"
    for number in range(20, 29):
        write(paused(number, PAUSES, lifetime=3600, day=400 + number), home / "logs" / f"{number}.jsonl")
    capsys.readouterr()
    assert main(["tune", "verify", "logs"]) == ExitCode.OK
    page = words(capsys)
    assert re.search(r"Measured \d+\.\d %", page)
    assert "The prediction held." in page
    assert main(["tune", "undo", "--yes"]) == ExitCode.OK
    assert settings.read_text() == text
    assert main(["tune", "undo", "--yes"]) == ExitCode.OK
    assert "nothing of 'agentsim tune --apply' is in it" in words(capsys)


def test_a_file_that_was_made_is_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.OK
    settings = home / ".claude" / "settings.json"
    assert json.loads(settings.read_text()) == {"env": {"ENABLE_PROMPT_CACHING_1H": "1"}}
    assert main(["tune", "undo", "--yes"]) == ExitCode.OK
    assert not settings.exists()


def test_a_file_that_cannot_be_written_leaves_no_trace(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_plan: SettingsPlan) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("agentsim.tuning.written_settings.write_settings", fails)
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.UNREADABLE
    assert "Permission denied" in capsys.readouterr().err
    assert main(["tune", "undo"]) == ExitCode.OK
    assert "nothing of 'agentsim tune --apply' is in it" in words(capsys)


def test_a_setting_that_costs_more_is_a_finding(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.OK
    for number in range(20, 29):
        write(paused(number, [QUICK] * 4, lifetime=3600, day=400 + number), home / "logs" / f"{number}.jsonl")
    capsys.readouterr()
    assert main(["tune", "verify", "logs"]) == ExitCode.FINDINGS
    assert "Undo it: agentsim tune undo" in words(capsys)
    assert main(["tune", "verify", "logs", "--json"]) == ExitCode.FINDINGS
    assert json.loads(capsys.readouterr().out)["judgement"] == "costs"


def test_json_and_what_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "propose", "logs", *ALL, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"env": {"ENABLE_PROMPT_CACHING_1H": "1"}}
    assert found["predicted"]["low"] <= found["predicted"]["share"] <= found["predicted"]["high"]
    assert main(["tune", "logs", "--json", "--apply"]) == ExitCode.USAGE
    assert main(["tune", "logs", *ALL, "--apply"]) == ExitCode.USAGE, "nobody is there to be asked"
    assert "give --yes" in capsys.readouterr().err
    assert not (home / ".claude" / "settings.json").exists()
    assert main(["tune", "undo"]) == ExitCode.OK
    assert main(["tune", "logs", "--since", "soon"]) == ExitCode.USAGE


def test_nothing_proposed_is_a_finding(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = home / "quiet"
    quiet.mkdir()
    for number in range(9):
        write(paused(number, [QUICK] * 4), quiet / f"{number}.jsonl")
    assert main(["tune", "quiet", *ALL]) == ExitCode.FINDINGS
    assert "No setting is proposed." in words(capsys)


def test_nothing_private_is_kept(home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"env": {"ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}, "apiKeyHelper": "canary-helper"}')
    assert main(["tune", "logs", *ALL, "--apply", "--yes"]) == ExitCode.OK
    kept = list((home / "state").rglob("*.json"))
    assert kept
    for file in kept:
        assert "canary" not in file.read_text()
        assert file.stat().st_mode & 0o077 == 0
