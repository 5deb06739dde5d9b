"""``agentsim trace convert`` and ``agentsim trace schema``."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.hostile import claude_code_log

WORD = "claude-opus-4-5"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return claude_code_log(tmp_path, "session.jsonl", WORD)


def figures(path: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[int, int, str]]:
    assert main(["replay", str(path), "--json"]) == ExitCode.OK
    rows = json.loads(capsys.readouterr().out)["rows"]
    return [(row["usage"]["written"], row["usage"]["read"], row["verdict"]["kind"]) for row in rows]


@pytest.mark.parametrize("options", [[], ["--fingerprint"]])
def test_a_trace_tells_the_same_as_its_source(
    options: list[str], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.jsonl"
    assert main(["convert", str(log), str(trace), *options]) == ExitCode.OK
    assert figures(trace, capsys) == figures(log, capsys)


def test_a_trace_is_private(log: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    main(["convert", str(log), str(trace)])
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600


def test_a_fingerprint_holds_no_word_and_no_name(tmp_path: Path) -> None:
    log = claude_code_log(tmp_path, "private-name.jsonl", "sesame")
    trace = tmp_path / "trace.jsonl"
    assert main(["convert", str(log), str(trace), "--fingerprint"]) == ExitCode.OK
    text = trace.read_text()
    assert "private-name" not in text
    # The model alone keeps its name: prices and rules depend on it.
    assert text.count("sesame") == text.count('"model":"sesame"')


def test_a_file_is_not_overwritten_unless_forced(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("mine")
    assert main(["convert", str(log), str(trace)]) == ExitCode.USAGE
    assert "--force" in capsys.readouterr().err
    assert trace.read_text() == "mine"
    assert main(["convert", str(log), str(trace), "--force"]) == ExitCode.OK
    assert trace.read_text() != "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["session.jsonl", "trace.jsonl"]


def test_standard_output(log: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["convert", str(log), "-"]) == ExitCode.OK
    lines = capfdbinary.readouterr().out.splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert lines


def test_a_place_that_cannot_be_written(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(log), str(tmp_path / "no" / "trace.jsonl")]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("agentsim: error: ")


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == ExitCode.OK
    assert "$schema" in json.loads(capsys.readouterr().out)


KEYS = (
    "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AAAA",
    "ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "Sy" + "A1b2C3d4E5" * 3 + "f6g",
    "xoxb-" + "1234567890-abcdefghij",
)


def test_no_key_leaves_the_log_with_the_words(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    said = " and ".join(KEYS)
    message = {"role": "user", "content": [{"type": "text", "text": f"Use {said}, please."}]}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": f"Key: {KEYS[0]}", "messages": [message]}
    answer: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "content": []}
    answer |= {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 90, "output_tokens": 3}}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"start": 1, "end": 2, "request": body, "response": answer}) + "\n")
    assert main(["trace", "convert", str(log), str(tmp_path / "out.jsonl")]) == 0
    assert main(["trace", "convert", str(log), "-"]) == 0
    for data in ((tmp_path / "out.jsonl").read_bytes(), capsysbinary.readouterr().out):
        assert b"please." in data, "the words stay"
        assert data.count(b"[removed]") == len(KEYS) + 1
        assert not [key for key in KEYS if key.encode() in data]
