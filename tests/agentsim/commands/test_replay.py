"""``agentsim replay`` on a small Claude Code log: 20,000 written, then read and 1,000 written, then all of it lost."""

import json
import os
import re
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.hostile import claude_code_log

MODEL = "claude-opus-4-5"


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(claude_code_log(tmp_path, "session.jsonl", MODEL))


def test_rows_and_verdicts(log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["replay", log]) == ExitCode.OK
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines() if re.match(r" +\d+  \d\d:", line)]
    # At $5 a million: 1,000 written at 6.25, 20,000 read at 0.50, 2 fresh at 5, 100 output at 25 make $0.01876.
    # 20,000 of 1,000 + 20,000 + 2 is 95.23 %.
    second = "2 10:00:20 20 s 5 s 21,002 1,000 20,000 2 95.23 $0.0188 hit"
    assert rows[1] == second.split()
    assert "MISS" in rows[2]
    # Totals: 20,000 + 1,000 + 22,000 written, 20,000 read, 6 fresh; 20,000 of 63,006 is 31.74 %.
    assert "3 requests: written 43,000, read 20,000, fresh 6, output 300; hit rate 31.74 %" in out
    assert err.count("agentsim: skipped: ") == 2


def test_only_the_misses(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", log, "--rows", "misses"]) == ExitCode.OK
    assert re.findall(r"^ +(\d+)  \d\d:", capsys.readouterr().out, re.M) == ["3"]


def test_json_parses_and_adds_up(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", log, "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    sums = document["accounting"]
    assert sums["rows"] == sums["used"] + sums["duplicate"] + sums["not_billable"] + sum(sums["skipped"].values())
    assert [row["verdict"]["kind"] for row in document["rows"]][2] == "miss"
    assert document["totals"]["tokens"]["written"] == sum(row["usage"]["written"] for row in document["rows"])
    assert [problem["line"] for problem in document["problems"]] == [8, 9]


def test_exit_code_1_when_asked_for(log: str) -> None:
    assert main(["replay", log, "--exit-code"]) == ExitCode.FINDINGS


def test_strict_takes_no_skipped_line(log: str) -> None:
    assert main(["replay", log, "--strict"]) == ExitCode.UNREADABLE


def test_one_session_of_several_must_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = "aaaa-1", "bbbb-2"
    for name in (first, second):
        claude_code_log(tmp_path, f"{name}.jsonl", name)
    assert main(["replay", str(tmp_path)]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert "2 sessions here; choose one with --session and the beginning of its id" in err
    _, _, *listed = (line.split()[0] for line in err.splitlines()[:4])
    assert sorted(listed) == [first, second]
    assert main(["replay", str(tmp_path), "--session", "bb"]) == ExitCode.OK
    assert "Session bbbb-2" in capsys.readouterr().out
    assert main(["replay", str(tmp_path), "--session", "c"]) == ExitCode.USAGE


def test_a_lane_has_a_name_and_an_id(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", log, "--lane", "main"]) == ExitCode.OK
    assert main(["replay", log, "--lane", "nothing"]) == ExitCode.USAGE
    assert "choose one of main" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}\n", "hello\n", "\x00" * 100])
def test_a_file_that_is_no_log(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    assert main(["replay", str(path)]) == ExitCode.UNREADABLE
    err = capsys.readouterr().err
    assert err.startswith(f"agentsim: error: {path}")
    assert err.count("\n") == 1


def test_a_folder_without_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == ExitCode.UNREADABLE
    assert str(tmp_path) in capsys.readouterr().err


def test_one_row(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", log, "--row", "3"]) == ExitCode.OK
    assert re.findall(r"^ +(\d+)  \d\d:", capsys.readouterr().out, re.M) == ["3"]
    assert main(["replay", log, "--row", "2", "--json"]) == ExitCode.OK
    assert [row["number"] for row in json.loads(capsys.readouterr().out)["rows"]] == [2]
    assert main(["replay", log, "--row", "4"]) == ExitCode.USAGE


def test_without_a_path_the_newest(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay"]) == ExitCode.UNREADABLE
    folder = own_home / ".claude" / "projects" / "some-project"
    folder.mkdir(parents=True)
    for name, time in (("old", 1_000), ("new", 3_000), ("middle", 2_000)):
        os.utime(claude_code_log(folder, f"{name}.jsonl", MODEL), (time, time))
    capsys.readouterr()
    assert main(["replay", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["session"]["files"][0].endswith("new.jsonl")


def test_the_worst_miss_of_a_summary_is_a_row_by_its_line(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", log, "--json"]) == ExitCode.OK
    miss = json.loads(capsys.readouterr().out)["worst_misses"][0]
    assert main(["replay", miss["file"], "--line", str(miss["line"]), "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["id"], row["verdict"]["kind"]) == (miss["request"], "miss")
    assert main(["replay", log, "--line", "999"]) == ExitCode.USAGE


def test_a_serving_trace_points_to_what_has_its_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.jsonl"
    row = {"timestamp": 0, "input_length": 600, "output_length": 9, "hash_ids": [1, 2]}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "timestamp": 900}) + "\n")
    assert main(["replay", str(path)]) == ExitCode.OK
    # A long path is broken where it has to be.
    assert f"agentsim engine capacity {path}".replace(" ", "") in "".join(capsys.readouterr().out.split())
