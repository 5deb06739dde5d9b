"""Sessions whose times count from their own beginning: no report gives them a date of 1970."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentsim.cli import main

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "samples" / "atlas-14.jsonl"
BEGINNING = 1_788_256_800
"""Seconds: when the sample begins. Its seventh request, which comes too late for its entry, begins 475 s after that and
ends 495 s after it."""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    text = SAMPLE.read_text(encoding="utf-8")
    text = re.sub(r'"(start|first_token|end)":"(\d+)', lambda m: f'"{m[1]}":"{int(m[2]) - BEGINNING}', text)
    file = tmp_path / "own-beginning.jsonl"
    file.write_text(text, encoding="utf-8")
    return str(file)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_replay_shows_the_time_since_the_beginning(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = out(capsys, "replay", trace)
    assert re.search(r"(?m)^ +7 .*main +\+0:07:55 ", page)
    assert "1970" not in page
    assert page.startswith("Session atlas-14 · agentsim/1 ·")


def test_summary_names_no_day_and_the_time_of_a_miss(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = out(capsys, "summary", trace)
    assert page.startswith("1 session in 1 file · 14 requests\n")
    assert re.search(r"(?m)^ +\+0:08:15 .* AS201 ", page)
    assert "1970" not in page


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "FILE", "--policy", "ttl-1h"),
        ("diff", "FILE", "FILE", "--all"),
        ("check", "FILE", "--max-cost", "9"),
    ],
    ids=" ".join,
)
def test_no_other_page_names_a_day(trace: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert "1970" not in out(capsys, *(trace if word == "FILE" else word for word in arguments))


def test_a_sweep_puts_it_into_no_week(tmp_path: Path, trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    fleet = str(tmp_path / "fleet")
    out(capsys, "sweep", trace, "--out", fleet, "--policy", "ttl-1h", "--workers", "0")
    document = json.loads(out(capsys, "report", fleet, "--json"))
    assert [(group["name"], group["requests"]) for group in document["by"]["week"]] == [("", 14)]
