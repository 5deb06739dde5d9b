"""Simulated agents on the engine: what they live through is what the simulation foresees, on real pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.cli import main
from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.engine.engine_run import EngineRun, run_on_engine
from agentsim.engine.model_loading import LoadedModel, load
from agentsim.engine.prefix_cache import Match, PrefixCache
from agentsim.harness.plan_run import simulate
from agentsim.scenarios import scenario_loading

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"


@pytest.fixture(scope="module")
def tiny() -> LoadedModel:
    return load("tiny", threads=1)


def lived(tiny: LoadedModel, name: str, *settings: str, **more: Any) -> list[tuple[Any, EngineRun]]:
    return [
        (cell, run_on_engine(cell.plan(), tiny, longest=800, new_tokens=2, paranoid=True, **more))
        for cell in scenario_loading.load(name, settings)
    ]


def verdicts(session: Session) -> list[tuple[str, str | None, int]]:
    return [(verdict.kind, verdict.cause, verdict.lost) for verdict in diagnose(session).verdicts]


@pytest.mark.parametrize("name", ["atlas-14", "fanout-2x2", "idle-afternoon"])
def test_a_providers_rules_on_pages_give_its_verdicts_and_its_bill(tiny: LoadedModel, name: str) -> None:
    """Expiry, breakpoints, lookback, settings, readability: the same rows lose the same tokens for the same causes."""
    for cell, run in lived(tiny, name, rules="anthropic"):
        modeled = simulate(cell.plan())
        assert verdicts(run.simulation.session) == verdicts(modeled.session)
        assert run.simulation.account.total.cost == modeled.account.total.cost
        assert run.agreeing == len(run.rows) == run.simulation.account.total.requests
        for row in run.rows:
            assert row.measured.reused % run.page == 0
    assert any(row.measured.reused for row in run.rows)


def test_the_fan_out_needs_the_wait_alone_where_no_marks_are(tiny: LoadedModel) -> None:
    reads = {}
    for cell, run in lived(tiny, "fanout-2x2"):
        assert run.agreeing == len(run.rows) == 4
        (mark, wait) = (value for _, value in cell.values)
        reads[mark, wait] = [row.measured.reused for row in run.rows]
    parent, shared = reads[True, "none"][1], reads[True, "first_token"][2]
    assert 0 < parent < shared
    for mark in (False, True):
        assert reads[mark, "none"] == [0, parent, parent, parent]
        assert reads[mark, "first_token"] == [0, parent, shared, shared]


def test_the_fan_out_needs_both_by_a_providers_rules(tiny: LoadedModel) -> None:
    reads = {
        tuple(value for _, value in cell.values): [row.measured.reused for row in run.rows]
        for cell, run in lived(tiny, "fanout-2x2", rules="anthropic")
    }
    together = reads[False, "none"]
    assert reads[False, "first_token"] == reads[True, "none"] == together
    assert reads[True, "first_token"][2:] > together[2:]
    assert len(set(together[1:])) == 1


@pytest.mark.parametrize("rules", [None, "anthropic"])
def test_a_broken_prefix_cache_is_seen(tiny: LoadedModel, rules: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = PrefixCache.match

    def forgetful(self: PrefixCache, *given: Any) -> Match:
        found = real(self, *given)
        return Match(found.places[:-1])

    monkeypatch.setattr(PrefixCache, "match", forgetful)
    ((_, run),) = lived(tiny, "atlas-14", rules=rules)
    assert run.agreeing < len(run.rows)
    assert any(row.measured.reused < row.predicted for row in run.rows)


def test_agents_react_to_what_the_engine_measures(tiny: LoadedModel) -> None:
    ((_, run),) = lived(tiny, "compaction-stages", "harness.compaction.method=reuse_prefix")
    assert run.simulation.account.of("summary").requests == 1
    assert run.agreeing == len(run.rows)
    summary = next(row for row in run.rows if row.request.purpose == "summary")
    assert summary.measured.reused > 0
    for row in run.rows:
        assert row.request.start is not None
        assert row.request.end is not None
        assert row.request.end - row.request.start == row.measured.end
    with pytest.raises(ValueError, match="only a provider compacts"):
        lived(tiny, "compaction-stages", "harness.compaction.method=server")


def test_rules_without_breakpoints_cannot_be_imposed(tiny: LoadedModel) -> None:
    with pytest.raises(ValueError, match="without breakpoints"):
        lived(tiny, "fanout-2x2", rules="deepseek")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "atlas-14", "--backend", "engine", "--weights", "tiny", "--longest", "600", "--new-tokens", "1"]
    assert main([*words, "--rules-on-pages", "anthropic"]) == 0
    page = capsys.readouterr().out
    assert "14 of 14 requests read as predicted" in page
    assert "AS201 The five-minute entry had expired" in page
    assert main([*words, "--json"]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engine"]
    assert engine["agreeing"] == len(engine["rows"]) == 14
    assert engine["rules_on_pages"] is None
    assert main(["run", "atlas-14", "--rules-on-pages", "anthropic"]) == 2
    assert "only the engine has pages" in capsys.readouterr().err
    assert main([*words, "--chance"]) == 2


def test_a_recorded_session_by_a_providers_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """The four rows of the atlas that lose everything but the head, or all of it, do so on pages."""
    trace = str(SAMPLES / "atlas-14.jsonl")
    words = [
        "replay",
        trace,
        "--backend",
        "engine",
        "--weights",
        "tiny",
        "--new-tokens",
        "1",
        "--longest",
        "1024",
        "--json",
    ]
    assert main([*words, "--rules-on-pages", "anthropic"]) == 0
    document = json.loads(capsys.readouterr().out)
    reads = [row["measured"] for row in document["rows"]]
    assert document["agreeing"] == 14
    assert [at + 1 for at, read in enumerate(reads) if read == 0] == [1, 5, 7]  # a tool inserted, an expiry
    assert reads[8] == reads[10] < reads[7]  # tool_choice, and out of the lookback's reach: the head alone
    assert reads[11] == reads[12] == reads[13]  # sent together
    assert main([*words, "--rules-on-pages", "deepseek"]) == 2
    assert "without breakpoints" in capsys.readouterr().err
    assert main([*words, "--rules-on-pages", "nobody"]) == 2
    assert main(["replay", trace, "--rules-on-pages", "anthropic"]) == 2
