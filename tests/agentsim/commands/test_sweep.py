"""``agentsim fleet sweep`` and ``agentsim fleet report`` as a user meets them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.fleet.logs import fleet

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")


def test_a_sweep_and_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs, out = str(fleet(tmp_path / "logs")), str(tmp_path / "out")
    common = ["sweep", logs, "--out", out, "--workers", "0", "--policy", "ttl-5m"]
    assert main(common) == ExitCode.OK
    told = capsys.readouterr()
    assert "9 sessions · 1 shard" in told.out
    assert "18 misses" in told.out
    assert "ttl-5m" in told.out
    assert told.err == ""
    assert main([*common, "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert (document["shards"], document["shards_done_before"], document["sessions"]) == (1, 1, 9)
    assert (
        main(["report", out, "--html", str(tmp_path / "r.html"), "--csv", str(tmp_path / "r.csv"), "--by", "project"])
        == 0
    )
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert [int(row["misses"]) for row in rows] == [6, 6, 6]
    assert "<svg" in (tmp_path / "r.html").read_text()
    assert main(["report", out, "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["total"] == document["total"]


def test_a_report_straight_from_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(fleet(tmp_path / "logs")), "--policy", "ttl-5m", "--team", r"(team-\d)"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "By team" in out
    assert "team-1" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["sweep", "--out", "x"], ExitCode.USAGE, "no PATH and no --scenario"),
        (["sweep", "gone.jsonl", "--out", "x"], ExitCode.UNREADABLE, "gone.jsonl: no such file"),
        (["sweep", ".", "--out", "x", "--policy", "ttl-2h"], ExitCode.USAGE, "did you mean"),
        (["sweep", ".", "--out", "x", "--team", "("], ExitCode.USAGE, "--team"),
        (["sweep", "nowhere://logs", "--out", "x", "--workers", "0"], ExitCode.USAGE, "nowhere"),
        (["sweep", "--scenario", "no-such", "--out", "x"], ExitCode.USAGE, "no such scenario"),
        (
            ["sweep", "--scenario", "pi-day", "--out", "x", "--memory", "much"],
            ExitCode.USAGE,
            "--memory: much is no size",
        ),
        (["sweep", "--scenario", "pi-day", "--out", "s3://b/x"], ExitCode.USAGE, "a folder, not to a URL"),
        (["sweep", ".", "--out", "x", "--seeds", "5"], ExitCode.USAGE, "--set and --seeds are for scenarios"),
        (["sweep", ".", "--out", "x", "--workers", "2", "--scheduler", "tcp://h:1"], ExitCode.USAGE, "leave --workers"),
        (["report", "gone"], ExitCode.UNREADABLE, "gone: no such file"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == ""


def test_a_folder_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = str(fleet(tmp_path / "logs", projects=1, sessions=1))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    assert main(["sweep", logs, "--out", str(tmp_path / "out"), "--workers", "0"]) == ExitCode.USAGE
    assert "something else than a sweep" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["sweep", "--workers", "0", "--out", "out"], ["report"], ["watch"]])
def test_why_nothing_could_be_judged(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names what was given, and the reason stands before it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert main([*command, "empty.jsonl"]) == ExitCode.UNREADABLE
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("agentsim: skipped: empty.jsonl: an empty file")
    assert second.startswith("agentsim: error: empty.jsonl: no session")


def test_a_damaged_table_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs, out = str(fleet(tmp_path / "logs", projects=1, sessions=1)), tmp_path / "out"
    assert main(["sweep", logs, "--out", str(out), "--workers", "0"]) == ExitCode.OK
    (file,) = (out / "usage").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9])
    capsys.readouterr()
    assert main(["report", str(out)]) == ExitCode.UNREADABLE
    assert f"{file}: this table of the sweep is damaged; remove it" in capsys.readouterr().err.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["report", "--policy", "ttl-1h"],
            "--policy is for logs, not for a sweep; give --policy to 'agentsim fleet sweep'",
        ),
        (["report", "--team", "x"], "--team is for logs"),
        (["watch", "--team", "x"], "--team is for logs"),
        (["report", "--by", "week"], "--by without --csv; add --csv FILE"),
        (["report", "--title", "x"], "--title without --html; add --html FILE"),
    ],
)
def test_no_option_is_without_effect(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, out = str(fleet(tmp_path / "logs", projects=1, sessions=1)), str(tmp_path / "out")
    assert main(["sweep", logs, "--out", out, "--workers", "0", "--policy", "ttl-5m"]) == ExitCode.OK
    capsys.readouterr()
    assert main([*arguments, out]) == ExitCode.USAGE
    assert words in capsys.readouterr().err
