"""ATIF trajectories: input with the cached part, subagents in the document, sums that tell of missing steps."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import atif
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound


def step(id, prompt=None, cached=None, written=None, source="agent", **fields):
    made = {"step_id": id, "timestamp": f"2026-09-10T10:00:{id:02}Z", "source": source, "message": "…", **fields}
    if prompt is not None:
        made["metrics"] = {"prompt_tokens": prompt, "completion_tokens": 7, "cached_tokens": cached}
        if written is not None:
            made["metrics"]["extra"] = {"cache_creation_input_tokens": written}
    return made


def trajectory(*steps, **fields):
    agent = {"name": "own-agent", "version": "1.2", "model_name": "anthropic/claude-sonnet-4-5"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": list(steps), **fields}


CHILD = {**trajectory(step(1, 400, 0), step(2, 500, 380)), "trajectory_id": "child"}
DOCUMENT = trajectory(
    step(1, source="system"),
    step(2, source="user"),
    step(3, 1000, 0, 900),
    step(4, 1200, 900, 200, model_name="openai/gpt-5.2"),
    step(5, 1200, 1500),
    subagent_trajectories=[CHILD],
    final_metrics={"total_prompt_tokens": 3100, "total_completion_tokens": 28, "total_cached_tokens": 1280},
)


def only(path):
    (session,) = sound(list(atif.read_sessions([str(path)])))
    return session


def test_a_trajectory(tmp_path):
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(DOCUMENT, indent=1))
    found = detect(str(path))
    assert found is not None
    assert found.name == "atif"
    session = only(path)
    assert (session.id, session.harness, session.accounting.skipped) == ("s", "own-agent", (("bad counter", 1),))
    assert [(request.lane, request.usage) for request in session.requests if request.lane == "main"] == [
        ("main", Usage(fresh=100, read=0, write_other=900, output=7)),
        ("main", Usage(fresh=100, read=900, write_other=200, output=7)),
    ]
    assert [request.usage.fresh for request in session.requests if request.lane == "main/child"] == [400, 120]
    assert {lane.id: lane.purpose for lane in session.lanes} == {"main": "main", "main/child": "subagent"}
    models = {request.model: request.provider for request in session.requests}
    assert models == {"claude-sonnet-4-5": "anthropic", "gpt-5.2": "openai"}
    # 1,000 + 1,200 + 400 + 500: all sums agree, though a step was left out.
    assert [problem.line for problem in session.problems] == [5]


@pytest.mark.parametrize("name", ["prompt", "completion", "cached"])
def test_sums_that_differ_are_told(tmp_path, name):
    path = tmp_path / "x"
    path.write_text(json.dumps(trajectory(step(1, 100, 50), final_metrics={f"total_{name}_tokens": 9999})))
    (problem,) = only(path).problems
    assert (problem.line, f"9999 {name} tokens" in problem.reason) == (0, True)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(atif, tmp_path / "x.json", damaged(json.dumps(DOCUMENT).encode(), damage))
