"""``agentsim run``, ``scenarios`` and ``fit`` as a user meets them."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from agentsim.scenarios import bundled_scenarios
from agentsim.traces.readers.agentsim1 import read_sessions

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_one_run_accounts_for_the_whole_task(capsys: Out):
    assert main(["run", "atlas-14"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "381,701 input equivalents" in out
    assert re.search(r"hit rate +52\.65 %", out)
    assert "10m 35s  start to completion (one task: no slow tail to speak of)" in out  # 610 s + 25 s
    assert "not measurable  the scenario has no [outcome]" in out
    assert re.search(r"context +41\.2 %  82,370 of 200,000 tokens", out)
    # 11 requests of the main loop and 3 of subagents; prices of $5, $6.25, $0.50 and $25 a million.
    assert re.search(r"main +11 +188,920 +156,150 +0 +3,120 +\$1\.34", out)
    assert re.search(r"sub +3 +91,500 +155,610 +0 +1,200 +\$0\.68", out)
    assert "AS101" in out


def test_a_sweep_is_a_table_with_paired_differences(capsys: Out, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "180")
    assert main(["run", "pi-day", "--set", "harness.keep_alive=off,keep-alive-priced", "--repeat", "3"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "seeds 7 to 9 · 2 combinations" in out
    assert re.search(r"off .*\$\d+\.\d\d ± \$\d+\.\d\d +–", out)
    assert re.search(r"keep-alive-priced .*-\$\d+\.\d\d ± \$\d+\.\d\d", out)
    assert "Student's t" in out
    assert "Compactions: three costs, kept apart" in out


def test_json_has_every_figure(capsys: Out):
    assert main(["run", "compaction-stages", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["report"] == "run"
    assert [one["values"] for one in document["combinations"]] == [
        {"harness.compaction.method": method} for method in ("reuse_prefix", "separate", "server")
    ]
    first = document["combinations"][0]
    assert first["compactions"][0]["summary"]["read"] == 89_100
    assert first["purposes"]["summary"]["requests"] == 1
    assert first["accepted"] is None
    assert "cost_per_accepted" in first["not_measurable"]
    assert float(first["cost"]["mean"]) == pytest.approx(1.57645)


def test_accepted_tasks_have_a_price(capsys: Out):
    settings = ["--set", "outcome.pass_rate=0.5", "--set", "agents.count=40", "--set", "task.turns=1"]
    assert main(["run", "claude-code-day", *settings, "--json"]) == ExitCode.OK
    (found,) = json.loads(capsys.readouterr().out)["combinations"]
    assert found["started"] == found["completed"] == 40
    assert 0 < found["accepted"] < 40
    total, each = float(found["totals"]["cost"]), float(found["cost_per_accepted"])
    assert each == pytest.approx(total / found["accepted"], abs=1e-11)
    times = found["task_seconds"]
    assert float(times["typical"]) < float(times["tail_95"]) <= float(times["largest"])


def test_a_model_without_a_price_costs_no_zero(capsys: Out):
    assert main(["run", "atlas-14", "--set", "model.name=nobody-1"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert re.search(r"cost +not priced  – input equivalents", out)
    assert re.search(r"not priced +14  requests, not in the cost", out)
    assert "$" not in out.split("Lost to")[0]


def test_tasks_that_are_never_finished(capsys: Out):
    assert main(["run", "pi-day", "--set", "failures.overloaded=1", "--set", "agents.count=3"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert re.search(r"completed +0  of 3 tasks", out)
    assert "no task was completed" in out
    assert re.search(r"refused +15 ", out)  # three tasks, five attempts each
    assert "Cost by purpose" not in out


def test_a_session_is_written_that_every_command_reads(tmp_path: Path, capsys: Out):
    file = tmp_path / "out.jsonl"
    assert main(["run", "atlas-14", "-o", str(file)]) == ExitCode.OK
    (session,) = read_sessions([str(file)])
    assert (session.id, session.format, len(session.requests)) == ("atlas-14-1", "simulation", 14)
    capsys.readouterr()
    assert main(["replay", str(file)]) == ExitCode.OK
    assert "written 280,420, read 311,760" in capsys.readouterr().out
    assert main(["compare", str(file)]) == ExitCode.OK
    assert main(["check", str(file), "--max-cost", "1"]) == ExitCode.FINDINGS
    assert file.stat().st_mode & 0o077 == 0


def test_each_combination_and_seed_is_a_session_of_its_own(tmp_path: Path):
    file = tmp_path / "out.jsonl"
    assert main(["run", "fanout-2x2", "--repeat", "2", "-o", str(file)]) == ExitCode.OK
    ids = [session.id for session in read_sessions([str(file)])]
    assert ids == [f"fanout-2x2.{cell}-{seed}" for cell in (1, 2, 3, 4) for seed in (1, 2)]


def test_errors_name_file_line_and_remedy(tmp_path: Path, capsys: Out):
    file = tmp_path / "mine.toml"
    file.write_text('story = "x"\n[model]\nname = "claude-opus-4-8"\n[promt]\n[task]\n')
    assert main(["run", str(file)]) == ExitCode.USAGE
    assert f"{file}:4: promt: no such key" in capsys.readouterr().err.replace("\n", " ")
    assert main(["run", "atlas"]) == ExitCode.USAGE
    assert "atlas-14" in capsys.readouterr().err
    assert main(["run", "atlas-14", "--set", "nothing"]) == ExitCode.USAGE
    assert "--set" in capsys.readouterr().err
    assert main(["run", "atlas-14", "-o", str(tmp_path / "no" / "such" / "place")]) == ExitCode.USAGE


def test_scenarios_are_listed_with_their_stories(capsys: Out):
    assert main(["scenarios"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert all(name in out for name in bundled_scenarios.names())
    assert main(["scenarios", "--show", "pi-day"]) == ExitCode.OK
    assert tomllib.loads(capsys.readouterr().out)["model"]["name"]
    assert main(["scenarios", "--show", "../secrets"]) == ExitCode.USAGE
    capsys.readouterr()
    assert main(["scenarios", "--json"]) == ExitCode.OK
    assert len(json.loads(capsys.readouterr().out)["scenarios"]) == len(bundled_scenarios.names())


def test_the_schema_accepts_the_bundled_scenarios_and_refuses_others(capsys: Out):
    assert main(["schema", "--scenario"]) == ExitCode.OK
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    for name in bundled_scenarios.names():
        document = json.loads(json.dumps(tomllib.loads(bundled_scenarios.text(name)), default=str))
        assert not list(validator.iter_errors(document)), name
    broken = {"story": "x", "model": {"name": "m"}, "task": {}, "promt": {}}
    assert list(validator.iter_errors(broken))


def test_fit_and_run(tmp_path: Path, capsys: Out):
    session, scenario = tmp_path / "session.jsonl", tmp_path / "fitted.toml"
    assert main(["run", "pi-day", "-o", str(session)]) == ExitCode.OK
    assert main(["fit", str(session), "-o", str(scenario)]) == ExitCode.OK
    capsys.readouterr()
    assert main(["run", str(scenario), "--json"]) == ExitCode.OK
    (found,) = json.loads(capsys.readouterr().out)["combinations"]
    assert found["completed"] == 1
    assert main(["fit", str(tmp_path / "none.jsonl")]) == ExitCode.UNREADABLE
