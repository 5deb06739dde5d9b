"""What a scenario can say: models by role, staggered starts, children with work of their own, scripts of one call."""

from __future__ import annotations

import pytest

from agentsim.core.file_problems import WrittenFileError
from agentsim.core.session import Request
from agentsim.harness.plan_run import Simulation, simulate
from agentsim.harness.repeated_trials import run_trial
from agentsim.scenarios.scenario_loading import parse

FRONT = """
[model]
name = "claude-opus-4-8"

[prompt]
tools = { count = 2, tokens = 3_000 }
system = [{ name = "system", tokens = 2_000 }]

[service]
first_token = 2
output_rate = 100
"""
QUESTION = """
[[script]]
do = "user"
tokens = 1_000
"""


def simulated(text: str, *settings: str) -> Simulation:
    (cell,) = parse(FRONT + text, "test", "test.toml", settings)
    return simulate(cell.plan())


def by_purpose(simulation: Simulation, purpose: str) -> list[Request]:
    return [request for request in simulation.session.requests if request.purpose == purpose]


def seconds(simulation: Simulation, request: Request) -> float:
    first = simulation.session.requests[0].start
    assert request.start is not None
    assert first is not None
    return (request.start - first) / 10**9


def test_a_scenario_needs_no_story() -> None:
    simulation = simulated(QUESTION + '[[script]]\ndo = "reply"')
    assert simulation.session.title == "test"


@pytest.mark.parametrize("style", ["parallel", "one_per_round", "script"])
def test_a_script_of_one_call_keeps_its_result_outside(style: str) -> None:
    work = '[[script]]\ndo = "round"\nresult = 30_000\n[[script]]\ndo = "reply"'
    simulation = simulated(f'[harness.calls]\nstyle = "{style}"\nscript = 400\nselected = 800' + QUESTION + work)
    last = simulation.session.requests[-1].prompt
    assert last is not None
    added = 400 + 800 if style == "script" else 120 + 30_000
    assert last.tokens == 8_000 + 1_000 + added
    assert simulation.account.kept_outside == (29_200 if style == "script" else 0)


def test_a_round_may_be_made_in_another_way() -> None:
    work = '[[script]]\ndo = "round"\nresult = 30_000\nstyle = "parallel"\n[[script]]\ndo = "reply"'
    assert simulated('[harness.calls]\nstyle = "script"' + QUESTION + work).account.kept_outside == 0


def test_each_role_may_have_its_model() -> None:
    simulation = simulated(
        """
[harness.helper]
model = "claude-haiku-4-5"
tokens = 100

[harness.fan_out]
fork = false
model = "claude-sonnet-4-5"

[harness.compaction]
method = "separate"
trigger = 30_000
model = "claude-haiku-4-5"
"""
        + QUESTION
        + """
[[script]]
do = "fan_out"
children = [100, { tokens = 100, model = "claude-opus-4-7" }]

[[script]]
do = "round"
result = 30_000

[[script]]
do = "reply"
"""
    )
    models = {
        purpose: [request.model for request in by_purpose(simulation, purpose)]
        for purpose in ("main", "helper", "subagent", "summary")
    }
    assert set(models["main"]) == {"claude-opus-4-8"}
    assert models["helper"] == models["summary"] == ["claude-haiku-4-5"]
    assert models["subagent"] == ["claude-sonnet-4-5", "claude-opus-4-7"]


def test_another_model_has_nothing_in_the_cache_of_its_own() -> None:
    summed = "[harness.compaction]\ntrigger = 30_000{model}" + QUESTION
    summed += '[[script]]\ndo = "round"\nresult = 30_000\n[[script]]\ndo = "reply"'
    own = by_purpose(simulated(summed.format(model="")), "summary")[0].usage
    other = by_purpose(simulated(summed.format(model='\nmodel = "claude-sonnet-4-5"')), "summary")[0].usage
    assert own is not None
    assert other is not None
    assert (own.read, other.read) == (9_000, 0)
    assert own.total_input == other.total_input


def test_a_server_compacts_with_the_model_that_is_asked() -> None:
    with pytest.raises(WrittenFileError, match="server compacts"):
        simulated(
            '[harness.compaction]\nmethod = "server"\nmodel = "claude-haiku-4-5"' + QUESTION + '[[script]]\ndo="reply"'
        )


@pytest.mark.parametrize("stagger", [0, 0.5, 3])
def test_subagents_start_one_after_the_other(stagger: float) -> None:
    fan = '[[script]]\ndo = "fan_out"\nchildren = [100, 100, 100]'
    simulation = simulated(f"[harness.fan_out]\nstagger = {stagger}" + QUESTION + fan)
    starts = [seconds(simulation, request) for request in by_purpose(simulation, "subagent")]
    # The parent's request takes 2 s.
    assert starts == [2, 2 + stagger, 2 + 2 * stagger]


def test_children_have_work_of_their_own_and_start_children_themselves() -> None:
    simulation = simulated(
        QUESTION
        + """
[[script]]
do = "fan_out"
rounds = 1
result = 500
reply = 40
children = [
    10,
    { tokens = 20, rounds = 2 },
    { tokens = 30, result = 700, reply = 50 },
    { tokens = 40, steps = [{ do = "fan_out", children = [5, 6], reply = 7 }, { do = "round", result = 900 }] },
]

[[script]]
do = "reply"
"""
    )
    requests = {
        lane.id: [
            request.prompt.tokens
            for request in simulation.session.requests
            if request.lane == lane.id and request.prompt
        ]
        for lane in simulation.session.lanes
    }
    grown = 9_000  # of the parent, whose answer has no text
    call, text = 120, 60
    assert requests["main/sub1"] == [grown + 10, grown + 10 + text + call + 500]
    assert requests["main/sub2"] == [grown + 20 + n * (text + call + 500) for n in range(3)]
    assert requests["main/sub3"] == [grown + 30, grown + 30 + text + call + 700]
    inner = grown + 40
    assert requests["main/sub4"] == [inner, inner + 2 * 7, inner + 2 * 7 + call + 900]
    assert requests["main/sub4/sub1"] == [inner + 5]
    assert requests["main/sub4/sub2"] == [inner + 6]
    assert requests["main"][-1] == grown + 3 * 40 + 50 - 40 + 40
    assert {lane.id: lane.parent for lane in simulation.session.lanes}["main/sub4/sub1"] == "main/sub4"


def test_rounds_and_steps_exclude_each_other() -> None:
    fan = '[[script]]\ndo = "fan_out"\nchildren = [{ tokens = 1, rounds = 1, steps = [] }]'
    with pytest.raises(WrittenFileError, match="either rounds or steps"):
        simulated(QUESTION + fan)


def test_drawn_children_may_differ() -> None:
    task = """
[task]
rounds = 12
result = {{ uniform = [500, 5_000] }}
[task.delegation]
chance = 0.5
rounds = {{ uniform = [1, 5] }}
alike = {alike}
"""
    counts = {}
    for alike in ("true", "false"):
        simulation = simulated(task.format(alike=alike))
        lanes = [request.lane for request in by_purpose(simulation, "subagent")]
        counts[alike] = [lanes.count(lane) for lane in dict.fromkeys(lanes)]
    assert all(len(set(counts["true"][at : at + 3])) == 1 for at in range(0, len(counts["true"]), 3))
    assert any(len(set(counts["false"][at : at + 3])) > 1 for at in range(0, len(counts["false"]), 3))


def test_what_is_loaded_before_a_turn_is_looked_for_in_it() -> None:
    text = '[harness.tools]\nstrategy = "fixed"\n[task]\nturns = 2\nrounds = 1\n[task.before_turn]\n'
    simulation = simulated(text + '2 = [{ do = "load", name = "late", tokens = 500 }]')
    kinds = [[block.role for block in request.prompt][-1] for request in simulation.session.requests if request.prompt]
    assert len(kinds) == 2 * 2 + 1
    assert set(kinds) == {"user"}  # nothing is asked after the model had the last word
    names = [call.name for call in simulation.session.requests[-1].prompt or () if call.kind == "tool_use"]
    assert names == [None, "search_tools", None]


def test_everything_there_from_the_first_request_on() -> None:
    tools = (
        '[harness.tools]\nstrategy = "all"\ncatalogue = [{ name = "a", tokens = 300 }, { name = "b", tokens = 400 }]'
    )
    load = '[[script]]\ndo = "load"\nname = "{}"\ntokens = 300\n[[script]]\ndo = "round"\n'
    simulation = simulated(tools + QUESTION + load.format("b") + load.format("c") + '[[script]]\ndo = "reply"')
    fronts = [[block.name for block in request.prompt][:5] for request in simulation.session.requests if request.prompt]
    assert fronts == [["tool 1", "tool 2", "a", "b", "c"]] * 3
    reads = [request.usage.read for request in simulation.session.requests if request.usage]
    assert all(reads[1:])


def test_time_and_hit_rate_have_intervals() -> None:
    text = "[task]\nrounds = { uniform = [2, 9] }\nresult = { uniform = [100, 9_000] }"
    (cell,) = parse(FRONT + text, "test", "test.toml")
    trial = run_trial(cell.plan, range(1, 6))
    rates = [account.total.read / account.total.total_input for account in trial.accounts]
    times = [account.tasks[0] for account in trial.accounts]
    assert trial.hit_rate is not None
    assert trial.task_time is not None
    assert abs(trial.hit_rate.mean - sum(rates) / 5 * 10**6) <= 1
    assert trial.task_time.mean == round(sum(times) / 5)
    for found in (trial.hit_rate, trial.task_time):
        assert found.half is not None
        assert found.half > 0
    assert run_trial(cell.plan, [1]).hit_rate.half is None  # type: ignore[union-attr]
