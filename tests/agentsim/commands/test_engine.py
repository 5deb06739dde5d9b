"""``agentsim engine bench``: eight outcomes in one table."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch", reason="the extra 'engine' is not installed")

from agentsim.cli import main
from agentsim.report.exits import ExitCode

BENCH = ["engine", "bench", "--weights", "tiny", "--threads", "1", "--prefix", "320"]


def test_the_table_names_all_eight(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert main([*BENCH, "--hourly", "2"]) == ExitCode.OK
    text = capsys.readouterr().out
    titles = ("stored", "hits", "restore", "first token", "generation", "throughput", "cost", "answers")
    table = text[text.index("─") :]
    lines = [line for line in table.splitlines() if line[:1].isdigit()]
    assert [line.split("  ")[0] for line in lines] == [f"{at} {name}" for at, name in enumerate(titles, 1)]
    assert "1,000 questions at $2 an hour" in text


def test_what_does_not_depend_on_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BENCH, "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert (document["report"], document["version"]) == ("engine bench", 1)
    # Three of four questions repeat a document of 320 tokens, which are 20 whole pages.
    assert (document["repeated"], document["hits"]) == (3 * 320, 3 * 320)
    # 2 (K and V) x 3 layers x 2 heads x 8 numbers x 4 bytes.
    assert document["bytes_per_token"] == 2 * 3 * 2 * 8 * 4
    # 320 + 30 + 15 tokens computed for the longest request: 23 pages of 16.
    assert document["peak_bytes"] == 23 * 16 * document["bytes_per_token"]
    assert [one["concurrency"] for one in document["throughput"]] == [1, 2, 4, 8, 16]
    answers = document["answers"]
    assert answers["cached"] == answers["restored"] == answers["together"] == answers["tokens"] == 4 * 16


def test_a_prefix_beyond_the_context_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BENCH[:-1], "50000"]) == ExitCode.USAGE
    assert "context" in capsys.readouterr().err


def test_nothing_is_cut_at_eighty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(BENCH)
    out = capsys.readouterr().out
    assert "\u2026" not in out
    assert max(map(len, out.splitlines())) <= 80
