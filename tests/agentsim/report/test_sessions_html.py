"""The web page of logs: whole, still, safe, and with the figures of the summary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentsim.traces.samples
from agentsim.cli import main
from agentsim.fleet.summary import summarise
from agentsim.report import figures
from agentsim.report.exits import ExitCode
from agentsim.report.web.weeks import every_day, every_week
from tests.agentsim.hostile import claude_code_log
from tests.agentsim.report.test_html import outline

LOG = Path(agentsim.traces.samples.__file__).parent / "claude-code.jsonl"


def written(tmp_path: Path, *arguments: str) -> str:
    file = tmp_path / "report.html"
    assert main(["report", *arguments, "--html", str(file)]) == ExitCode.OK
    return file.read_text(encoding="utf-8")


def test_it_has_the_figures_of_the_summary_and_loads_nothing(tmp_path: Path) -> None:
    text = written(tmp_path, str(LOG))
    seen, summary = outline(text), summarise([str(LOG)], workers=1)
    assert "script" not in seen.seen
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    for told in (figures.money(summary.cost), figures.money(summary.lost_cost), "What to set", summary.losses[0].cause):
        assert told in seen.text
    assert seen.seen.count("details") >= len(summary.losses)


def test_it_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "distributed", "pyarrow", "pandas", "numpy", "fsspec"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert "Sessions that lost most" in written(tmp_path, str(LOG))


def test_words_of_logs_stay_words(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    claude_code_log(folder)
    text = written(tmp_path, str(folder), "--content", "--title", "<script>")
    assert "script" not in outline(text).seen
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_first_words_stand_in_it_only_when_asked_for(tmp_path: Path, shared_data: Path) -> None:
    log = str(shared_data / "claude-code" / "oh-my-posh__fable5-1h-then-5m-94fab1a1.jsonl")
    assert "Gradient-colored" not in written(tmp_path, log)
    assert "Gradient-colored" in written(tmp_path, log, "--content")


def test_without_a_path_or_a_page_it_says_what_to_do(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--html", "x.html"]) == ExitCode.UNREADABLE
    assert "no logs of a harness on this machine" in capsys.readouterr().err
    (own_home / ".codex" / "sessions").mkdir(parents=True)
    assert main(["report"]) == ExitCode.USAGE
    assert "add --html FILE alone" in capsys.readouterr().err


def test_empty_weeks_and_days_stay_on_the_axis() -> None:
    assert every_week("2026-W52", "2027-W02") == ["2026-W52", "2026-W53", "2027-W01", "2027-W02"]
    assert every_week("2026-W05", "2026-W05") == ["2026-W05"]
    assert every_week("", "2026-W05") == ["", "2026-W05"]
    assert every_day("2026-02-27", "2026-03-02") == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert every_day("2026-02-01", "2026-02-20", 7) == ["2026-02-01", "2026-02-08", "2026-02-15"]


def test_it_has_findings_leads_rows_and_the_line_to_add(tmp_path: Path, shared_data: Path) -> None:
    text = written(tmp_path, str(shared_data / "claude-code"))
    for told in (
        "Losses of one kind",
        "losses fall on the first request after a prompt",
        "A lead, no proof.",
        "Half of the loss lies in 2 sessions of 14 (6b6f4218, 94fab1a1)",
        "#212",
        "--row 212",
        "<ins>+ &quot;env&quot;: {&quot;ENABLE_PROMPT_CACHING_1H&quot;: &quot;1&quot;}</ins>",
        'class="whisker"',
    ):
        assert told in text
