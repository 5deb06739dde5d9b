"""One setting at many values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from agentsim.traces.samples.claude_log import ClaudeLog
from agentsim.whatif.comparison import compare
from agentsim.whatif.setting_sweeps import RESERVED, SWEEPS, sweep
from tests.agentsim.whatif.policies.test_histories import long_session


def test_each_point_is_what_a_comparison_says_of_that_value() -> None:
    sessions = [long_session(30), long_session(22)]
    curve = sweep(sessions, "compact")
    assert [point.value for point in curve.points] == sorted(SWEEPS["compact"].values)
    alone = compare(sessions, ["compact-earlier:at=120000"]).outcomes[0]
    (point,) = [point for point in curve.points if point.value == 120_000]
    assert (point.saving, point.cost) == (alone.saving, alone.sums.cost)
    assert curve.best is not None
    assert curve.best.saving == max(p.saving for p in curve.points if p.saving is not None)
    unreached = [point for point in curve.points if point.value >= 400_000]  # the longest prompt has 303,000
    assert all(point.saving is None and point.reason is not None for point in unreached)


def test_the_setting_is_the_window_that_compacts_there() -> None:
    write = SWEEPS["compact"].setting
    assert write("claude-code", 167_000) == f"autoCompactWindow {167_000 + RESERVED}"
    assert write("claude-code", 967_000) == "autoCompactWindow 1000000"
    assert write("claude-code", 967_001) is None
    assert write("codex", 120_000) == "model_auto_compact_token_limit = 120000"
    assert write(None, 120_000) is None


@pytest.fixture
def log(tmp_path: Path) -> str:
    log = ClaudeLog("one", model="claude-sonnet-4-5")
    log.user()
    for turn in range(12):
        log.call(20_000 * turn, 20_000, output=50)
        log.user()
    return str(log.save(tmp_path / "one.jsonl"))


def test_page_and_json(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", log, "--sweep", "compact", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["sweep"] == "compact"
    assert len(document["points"]) == len(SWEEPS["compact"].values)
    assert main(["compare", log, "--sweep", "compact"]) == ExitCode.OK
    page = capsys.readouterr().out
    assert "the same number for every session" in page
    assert "as recorded" in page


def test_a_sweep_tries_one_setting_alone(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", log, "--sweep", "compact", "--policy", "ttl-1h"]) == ExitCode.USAGE
    assert "--sweep" in capsys.readouterr().err
