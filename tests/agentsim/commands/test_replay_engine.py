"""``agentsim replay --backend engine``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra 'engine' is not installed")

from agentsim.cli import main
from agentsim.report.exits import ExitCode

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
ATLAS = str(SAMPLES / "atlas-14.jsonl")
ENGINE = ["--backend", "engine", "--weights", "tiny", "--threads", "1", "--scale", "0.01", "--new-tokens", "3"]


def test_predicted_stands_beside_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["replay", ATLAS, *ENGINE]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "tiny, float32, on CPU with 1 thread" in text
    # A hundredth of 10,000 tokens; of the 85 of row 1 five pages of 16 come back.
    line = next(line for line in text.splitlines() if line.startswith("r02"))
    assert line.split()[1:5] == ["100", "80", "80", "same"]
    assert "reused as predicted  14 of 14 requests" in text
    for what in ("first token, hits", "generation", "K/V memory", "back from the host"):
        assert what in text


def test_the_same_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", ATLAS, *ENGINE, "--paranoid", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert (document["report"], document["version"]) == ("replay on the engine", 1)
    assert document["agreeing"] == 14
    assert document["rows"][1]["predicted"] == document["rows"][1]["measured"] == 80
    assert document["rows"][1]["output"] <= 3
    assert document["restored"]["bytes"] == document["restored"]["tokens"] * document["bytes_per_token"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--scale", "0.9"], "fit"),
        (["--tokens", "text", "--weights", "nowhere.gguf"], "no such file"),
        (["--weights", __file__], "test_replay_engine.py"),
    ],
)
def test_what_cannot_be_done_is_told(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", ATLAS, *ENGINE, *options]) in (ExitCode.USAGE, ExitCode.UNREADABLE)
    error = capsys.readouterr().err
    assert reason in error
    assert "defect" not in error
