"""What is to be known of an input is a note; what was left out of it was skipped. Only that is for ``--strict``."""

import io
import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.core.session import Problem
from agentsim.report.exits import ExitCode
from agentsim.report.notices import tell_problems
from agentsim.traces.format_registry import read
from agentsim.traces.readers import agentsim1
from tests.traces.captures import jsonl

TRAJECTORY = {
    "trajectory": [],
    "history": [{"role": "user", "content": "fix it"}, {"role": "assistant", "content": "done"}],
    "info": {"model_stats": {"tokens_sent": 10, "tokens_received": 2, "api_calls": 1}},
}


def test_words(capsys: pytest.CaptureFixture[str]) -> None:
    tell_problems(
        [
            Problem(file="a", line=0, reason="sums only", remedy="nothing to do", note=True),
            Problem(file="b", line=3, reason="broken", remedy="mend it"),
            Problem(file="c", line=0, reason="unreadable", remedy="look at it"),
        ]
    )
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["note", "skipped", "skipped"]


def test_a_note_skips_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.traj"
    path.write_text(json.dumps(TRAJECTORY))
    assert main(["replay", "--strict", str(path)]) == ExitCode.OK
    err = capsys.readouterr().err
    assert "note: " in err
    assert "skipped: " not in err
    assert main(["summary", "--strict", "--json", str(path)]) == ExitCode.OK
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["note"] is True


def test_a_skipped_row_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    row = {"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}
    path.write_bytes(jsonl(row, {**row, "input_length": 9}))
    assert main(["replay", "--strict", str(path)]) == ExitCode.UNREADABLE
    assert "skipped: " in capsys.readouterr().err


def test_a_trace_keeps_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "x.traj"
    path.write_text(json.dumps(TRAJECTORY))
    (session,) = read([str(path)], [])
    stream = io.BytesIO()
    agentsim1.write(session, stream)
    copy = tmp_path / "trace.jsonl"
    copy.write_bytes(stream.getvalue())
    (again,) = read([str(copy)], [])
    assert [problem.note for problem in again.problems] == [problem.note for problem in session.problems] == [True]
