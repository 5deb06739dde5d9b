"""Scenarios fitted to sessions: what was simulated comes back, and real logs give one that runs."""

from pathlib import Path

import msgspec
import pytest

from agentsim.core.dates import SECOND
from agentsim.core.session import Session
from agentsim.harness.plan_run import simulate
from agentsim.harness.random_draws import FixedNumber
from agentsim.harness.step_sources import GeneratedTasks
from agentsim.scenarios.scenario_fitting import as_toml, fit
from agentsim.scenarios.scenario_loading import parse
from agentsim.traces.format_registry import read
from tests.agentsim.harness.plans import plan

KNOWN = GeneratedTasks(
    turns=FixedNumber(4),
    prompt=FixedNumber(150),
    rounds=FixedNumber(3),
    text=FixedNumber(20),
    call=FixedNumber(80),
    result=FixedNumber(900),
    tool_time=FixedNumber(7 * SECOND),
    reply=FixedNumber(250),
    pause=FixedNumber(90 * SECOND),
)


def test_what_was_simulated_comes_back():
    session = simulate(plan(source=KNOWN)).session
    found = fit([session])
    assert (found.turns, set(found.rounds), set(found.prompts)) == ([4], {3}, {150})
    assert (set(found.outputs), set(found.results), set(found.replies)) == ({100}, {900}, {250})
    assert (set(found.tool_times), set(found.pauses)) == ({7 * SECOND}, {90 * SECOND})
    assert found.sections == (("tools", 5_000), ("system", 2_000))
    assert set(found.first_tokens) == {2 * SECOND}


def test_a_fitted_scenario_repeats_the_session():
    session = simulate(plan(source=KNOWN)).session
    (cell,) = parse(as_toml(fit([session]), "session"), "fitted", "fitted.toml")
    again = simulate(cell.plan()).session
    assert [r.usage for r in again.requests] == [r.usage for r in session.requests]


def test_placeholders_of_outputs_are_left_out():
    session = simulate(plan(source=KNOWN)).session
    requests = [
        msgspec.structs.replace(r, usage=msgspec.structs.replace(r.usage, output=1), output_final=False)
        if r.id == "r2" and r.usage is not None
        else r
        for r in session.requests
    ]
    found = fit([msgspec.structs.replace(session, requests=tuple(requests))])
    # The second round of four times three: neither its output nor the size of its result is known.
    assert (len(found.outputs), len(found.results)) == (11, 11)
    assert (set(found.outputs), set(found.results)) == ({100}, {900})


def test_long_lists_become_quantiles():
    session = simulate(plan(source=GeneratedTasks(turns=FixedNumber(60)))).session
    found = fit([session])
    found.results = list(range(100_001))
    text = as_toml(found, "x")
    line = next(line for line in text.splitlines() if line.startswith("result"))
    assert line.startswith("result = { empirical = [0, 1000, 2000, ")
    assert line.endswith("99000, 100000] }")


def test_nothing_to_fit():
    empty = Session(id="x", format="x", completeness="usage", lanes=(), requests=())
    with pytest.raises(ValueError, match="reports its usage"):
        as_toml(fit([empty]), "x")


def test_outside_names_do_no_harm():
    session = simulate(plan(source=KNOWN, model="claude-opus-4-8")).session
    text = as_toml(fit([session]), 'a"""\n[model]\x1b[31m')
    (cell,) = parse(text, "x", "x.toml")
    assert cell.scenario.model.name == "claude-opus-4-8"
    assert "\x1b" not in text


def test_real_sessions_give_a_scenario_that_runs(shared_data: Path):
    found = fit(read([str(shared_data / "claude-code")]))
    assert found.requests > 1_000
    (cell,) = parse(as_toml(found, "claude-code"), "fitted", "fitted.toml", ["task.turns=3"])
    account = simulate(cell.plan(), keep=False).account
    assert account.finished == 1
    assert account.total.cost > 0
