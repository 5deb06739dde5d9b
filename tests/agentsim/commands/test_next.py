"""``agentsim next``, and ``agentsim.next()``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import get_args

import pytest

import agentsim
from agentsim.cli import main
from agentsim.core.money import PICODOLLARS
from agentsim.outlook.cache_state import NothingToPrice
from agentsim.outlook.priced_act import ActName
from agentsim.report.exits import ExitCode
from tests.traces.format_samples import BY_MODULE

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
ATLAS = SAMPLES / "atlas-14.jsonl"


def test_the_price_of_going_on_is_that_of_its_tokens() -> None:
    outlook = agentsim.next(ATLAS)
    # Claude Opus 4.8 of 2026-09-01: $0.50 for a million tokens read, $6.25 written for five minutes. The last row left
    # 51,870 tokens and answered with 300.
    act = outlook.act("go-on")
    assert act is not None
    assert act.exact
    assert act.cost is not None
    assert act.cost.expected == (51_870 * 50 + 300 * 625) * PICODOLLARS // 10**8
    assert outlook.thousand_new == 1_000 * 625 * PICODOLLARS // 10**8


def test_waiting_to_the_end_of_the_lifetime_and_a_second_longer() -> None:
    # The last request began at 10:09:40 and its answer ended at 10:10:00: its entry lives until 10:14:40.
    kept, lost = (agentsim.next(ATLAS, pause=seconds).act("wait") for seconds in (280, 281))
    assert kept is not None
    assert lost is not None
    assert kept.steps[0].expected.read == 51_870
    assert lost.steps[0].expected.read == 0
    assert lost.steps[0].expected.write_short == 52_170


def test_every_act_is_priced_or_named_with_a_reason() -> None:
    outlook = agentsim.next(ATLAS)
    names = [act.name for act in outlook.acts] + [act.name for act in outlook.left_out]
    assert set(names) == set(get_args(ActName))
    assert all(act.rules for act in outlook.acts)
    assert all(act.cost is not None and act.cost.low <= act.cost.expected <= act.cost.high for act in outlook.acts)


def test_a_summary_when_it_is_cold_costs_more_than_one_while_it_is_warm() -> None:
    outlook = agentsim.next(ATLAS)
    now, before, cold = (outlook.act(f"compact-{when}") for when in ("now", "before-cold", "when-cold"))
    assert now is not None
    assert before is not None
    assert cold is not None
    assert now.cost == before.cost
    assert now.cost is not None
    assert cold.cost is not None
    assert cold.cost.expected > now.cost.expected


def test_every_format_can_be_looked_at(tmp_path: Path) -> None:
    priced = 0
    for name, make in BY_MODULE.items():
        folder = tmp_path / name
        folder.mkdir()
        path = make(folder)
        try:
            outlook = agentsim.next(path)
        except (NothingToPrice, OSError):
            continue
        priced += 1
        for act in outlook.acts:
            for step in act.steps:
                best, worst = step.best.read or 0, step.worst.read or 0
                assert worst <= (step.expected.read or 0) <= best, (path, act.name)
    assert priced > 20


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", str(ATLAS), "--after", "0", "--why"]) == ExitCode.OK
    page = capsys.readouterr().out
    assert "warm for 4m 40s · 51,870 tokens cached" in page
    assert "ttl_short = 300 (high): provider documentation" in page
    assert "$0.0062 for a thousand tokens" in page.replace("\n", " ")


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", str(ATLAS), "--after", "0", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["warmth"] == "warm"
    assert document["acts"][0]["cost"] == {"expected": "0.02781", "low": "0.02781", "high": "0.02781"}


def test_without_a_path_it_is_the_newest_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    log = folder / "one.jsonl"
    log.write_bytes((SAMPLES / "claude-code.jsonl").read_bytes())
    os.utime(log, (2_000_000_000, 2_000_000_000))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert main(["next"]) == ExitCode.OK
    assert "3f0c7d52-8a41-4b7e-9a55-6d2e1c9b7f10" in capsys.readouterr().out


def test_a_log_without_counters_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", str(tmp_path / "none.jsonl")]) == ExitCode.UNREADABLE
    assert "no such file" in capsys.readouterr().err
