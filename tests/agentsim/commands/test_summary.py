"""``agentsim summary``: where it looks, what it adds up."""

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.hostile import claude_code_log


def place(root: Path, name: str) -> None:
    folder = root / "projects" / "some-project"
    folder.mkdir(parents=True)
    claude_code_log(folder, f"{name}.jsonl", name)


def sums(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["summary", "--json", *arguments]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_the_usual_places(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place(own_home / ".claude", "one")
    place(own_home / ".config" / "claude", "two")
    assert sums(capsys)["sessions"] == 2


def test_the_variable_names_several_folders(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place(own_home / ".claude", "not-this")
    place(tmp_path / "a", "one")
    place(tmp_path / "b", "two")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path / 'a'}, {tmp_path / 'b'}")
    assert sums(capsys)["requests"] == 6


def test_no_logs_at_all(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary"]) == ExitCode.UNREADABLE
    assert "no logs of a harness on this machine" in capsys.readouterr().err


def test_logs_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text('{"type": "session"}\n')
    assert main(["summary", str(tmp_path)]) == ExitCode.UNREADABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{tmp_path}: no session in here" in err


def test_each_line_is_counted_once(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place(own_home / ".claude", "one")
    accounting = sums(capsys)["accounting"]
    assert isinstance(accounting, dict)
    classes = accounting["used"] + accounting["duplicate"] + accounting["not_billable"]
    assert accounting["rows"] == classes + sum(accounting["skipped"].values()) == 9


def test_a_model_without_a_price_is_counted_and_its_cost_is_not_known(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place(own_home / ".claude", "one")
    document = sums(capsys)
    assert document["not_priced"] == {"one": 3}
    assert document["cost"] is None
    assert main(["summary"]) == ExitCode.OK
    assert "Not priced, and not in the cost: 3 requests (one 3)" in capsys.readouterr().out


def test_the_number_of_the_worst_is_a_choice(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place(own_home / ".claude", "one")
    assert sums(capsys, "--top", "0")["worst_misses"] == []


def test_strict(own_home: Path) -> None:
    place(own_home / ".claude", "one")
    assert main(["summary", "--strict"]) == ExitCode.UNREADABLE
