"""``agentsim engine capacity``."""

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.traces.captures import jsonl

ROWS = [{"timestamp": n, "input_length": 1500, "output_length": 1, "hash_ids": [1, 2, 10 + n]} for n in range(3)]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(jsonl(*ROWS))
    return str(path)


def test_a_page(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serving", trace, "--capacity", "512,1k,1M"]) == ExitCode.OK
    page = capsys.readouterr().out
    lines = [line.split()[:4] for line in page.splitlines()]
    # Two of three prompts find both shared blocks; the smaller caches have only the first.
    assert ["512", "22.76", "1,024", "2"] in lines
    assert ["1,000,000", "45.51", "2,048", "2"] in lines
    assert ["no", "end", "45.51", "2,048"] in lines


def test_json_and_rows(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serving", trace, "--engine", "sglang", "--capacity", "1M", "--json", "--rows"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    (served,) = document["traces"]
    assert (document["report"], document["page"]) == ("serving", 1)
    assert served["ceiling"] == {
        "capacity_tokens": None,
        "hit_rate": round(2048 / 4500, 6),
        "read_tokens": 2048,
        "requests_with_a_hit": 2,
    }
    assert [row["read_tokens"]["1000000"] for row in served["rows"]] == [0, 1024, 1024]


@pytest.mark.parametrize("given", ["", "0", "-5", "many", "1e9", "9" * 30, ",".join(["1"] * 65)])
def test_no_capacity(trace: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serving", trace, f"--capacity={given}"]) == ExitCode.USAGE
    assert "--capacity" in capsys.readouterr().err


def test_rows_go_with_json(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serving", trace, "--rows"]) == ExitCode.USAGE
    assert "add --json" in capsys.readouterr().err


def test_what_is_skipped_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl(*ROWS, {**ROWS[0], "input_length": 9}))
    assert main(["serving", str(path), "--strict"]) == ExitCode.UNREADABLE
    assert f"{path}:4: bad counter" in capsys.readouterr().err


def test_an_input_without_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl({**ROWS[0], "input_length": 9}))
    assert main(["serving", str(path)]) == ExitCode.UNREADABLE
    assert "x.jsonl:1: bad counter" in capsys.readouterr().err
