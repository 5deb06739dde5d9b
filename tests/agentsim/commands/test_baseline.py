"""``agentsim baseline``."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from tests.agentsim.budget.recorded import after, before, write


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of one width, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "agentsim.toml").write_text('[[budget]]\ntraces = "rec/*.jsonl"\nmax-growth = "5%"\n')
    write(before(), tmp_path / "rec" / "run.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entries(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / "agentsim-baseline.json").read_text())["traces"]
    return found


def test_a_change_fails_until_it_is_accepted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 3, "nothing to compare with"
    assert main(["baseline", "write"]) == 0
    assert main(["check"]) == 0
    write(after(id="gate-before"), project / "rec" / "run.jsonl")
    assert main(["check"]) == 1
    assert main(["baseline", "diff"]) == 1
    capsys.readouterr()
    assert main(["baseline", "write"]) == 0
    out = capsys.readouterr().out
    assert "changed" in out
    assert "$0.1104 → $0.1428" in out
    assert main(["check"]) == 0
    assert main(["baseline", "diff"]) == 0


def test_writing_again_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "write"])
    first = (project / "agentsim-baseline.json").read_bytes()
    capsys.readouterr()
    assert main(["baseline", "write"]) == 0
    assert (project / "agentsim-baseline.json").read_bytes() == first
    assert capsys.readouterr().out == "agentsim-baseline.json holds 1 session: no change\n"


def test_without_paths_it_is_written_anew_and_with_paths_the_others_stay(project: Path) -> None:
    write(after(), project / "rec" / "other.jsonl")
    main(["baseline", "write"])
    assert set(entries(project)) == {"rec/run.jsonl#gate-before", "rec/other.jsonl#gate-after"}
    write(after(id="new"), project / "rec" / "run.jsonl")
    assert main(["baseline", "write", "rec/run.jsonl"]) == 0
    assert set(entries(project)) == {"rec/run.jsonl#new", "rec/other.jsonl#gate-after"}, "the old run of it is gone"
    (project / "rec" / "other.jsonl").unlink()
    main(["baseline", "write"])
    assert set(entries(project)) == {"rec/run.jsonl#new"}


def test_diff_writes_nothing(project: Path) -> None:
    assert main(["baseline", "diff"]) == 1
    assert not (project / "agentsim-baseline.json").exists()


def test_it_is_not_written_from_half_of_the_input(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "rec" / "bad.jsonl").write_text("not a log\n")
    assert main(["baseline", "write"]) == 3
    assert "not written" in capsys.readouterr().err
    assert not (project / "agentsim-baseline.json").exists()


def test_a_broken_one_is_not_overwritten(project: Path) -> None:
    (project / "agentsim-baseline.json").write_text("mine")
    assert main(["baseline", "write"]) == 2
    assert (project / "agentsim-baseline.json").read_text() == "mine"


def test_keys_are_the_same_from_any_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "rec")
    assert main(["baseline", "write"]) == 0
    assert set(entries(project)) == {"rec/run.jsonl#gate-before"}
