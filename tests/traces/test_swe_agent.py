"""SWE-agent: prompts rebuilt step by step; mini-swe-agent: usage of each step."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import swe_agent
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

MARK = {"type": "ephemeral"}


def step(number):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": f"step {number}", "tool_calls": [call], "agent": "main"},
        {"role": "tool", "content": f"done {number}", "tool_call_ids": [f"c{number}"], "agent": "main"},
    ]


HISTORY = [
    {"role": "system", "content": "You are a programmer.", "message_type": "system_prompt"},
    {"role": "user", "content": "an example", "is_demo": True},
    {"role": "assistant", "content": "its answer", "is_demo": True},
    {"role": "user", "content": [{"type": "text", "text": "fix it", "cache_control": MARK}]},
    *step(0),
    *step(1),
]
RUN = {
    "environment": "main",
    "trajectory": [{"action": "x", "observation": "y"}],
    "history": HISTORY,
    "info": {"model_stats": {"tokens_sent": 900, "tokens_received": 40, "api_calls": 2, "instance_cost": 0.1}},
    "replay_config": json.dumps({"agent": {"model": {"name": "claude-sonnet-4-5"}}}),
}


def only(tmp_path, document):
    path = tmp_path / "run.traj"
    path.write_text(json.dumps(document))
    (session,) = sound(list(swe_agent.read_sessions([str(path)])))
    return session


def test_each_step_has_the_prompt_that_it_answered(tmp_path):
    session = only(tmp_path, RUN)
    first, second = session.requests
    # System, demonstration, its answer, task; then a step is its text, its call and the result.
    assert [len(request.prompt) for request in session.requests] == [4, 7]
    assert [block.kind for block in second.prompt][4:] == ["text", "tool_use", "tool_result"]
    assert first.prompt.common_length(second.prompt) == 4
    assert [marker.position for marker in first.prompt.breakpoints] == [3]
    assert (first.model, first.provider, first.usage) == ("claude-sonnet-4-5", "anthropic", None)


def test_demonstrations_are_no_requests_and_sums_are_told(tmp_path):
    session = only(tmp_path, RUN)
    assert (session.accounting.rows, session.accounting.used, session.accounting.not_billable) == (3, 2, 1)
    assert "900 sent and 40 received in 2 calls" in session.problems[0].reason


def test_mini_keeps_the_usage_of_each_step(tmp_path):
    usage = {"prompt_tokens": 2_000, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1_536}}
    response = {"id": "r1", "model": "openai/gpt-5.5", "usage": usage}
    extra = {"response": response, "timestamp": 1_790_000_000.5}
    odd = {"response": {"usage": {**usage, "prompt_tokens": 1_000}}}
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a", "extra": extra},
        {"role": "user", "content": "r"},
        {"role": "assistant", "content": "b", "extra": odd},
    ]
    document = {"trajectory_format": "mini-swe-agent-1", "info": {"model_stats": {}}, "messages": messages}
    session = only(tmp_path, document)
    (request,) = session.requests
    assert request.usage == Usage(fresh=464, read=1_536, output=9)
    assert (request.id, request.provider, request.end) == ("r1", "openai", 1_790_000_000_500_000_000)
    assert session.accounting.skipped == (("bad counter", 1),)


def test_a_result_answers_its_call_whichever_way_it_names_it(tmp_path):
    def texts(name, value):
        result = {"role": "tool", "content": "done", name: value}
        history = [*HISTORY[:4], step(0)[0], result, step(1)[0]]
        return [block.text for block in only(tmp_path, {**RUN, "history": history}).requests[-1].prompt]

    listed, plain, other = texts("tool_call_ids", ["c0"]), texts("tool_call_id", "c0"), texts("tool_call_id", "c1")
    assert listed == plain
    assert '"tool_use_id":"c0"' in plain[-1]
    assert '"tool_use_id":"c1"' in other[-1]


def test_it_is_told_from_other_formats(tmp_path):
    only(tmp_path, RUN)
    found = detect(str(tmp_path / "run.traj"))
    assert found is not None
    assert found.name == "swe-agent"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_costs_steps_or_the_file(tmp_path, damage):
    check_damaged(swe_agent, tmp_path / "r.traj", damaged(json.dumps(RUN).encode(), damage))


def test_a_real_trajectory(shared_data):
    path = shared_data / "swe-agent" / "swe-agent__marshmallow-1867-function_calling.traj.json"
    (session,) = sound(list(swe_agent.read_sessions([str(path)])))
    # As many as the file's own count of API calls; a replay, so that no tokens were counted.
    assert len(session.requests) == 11
    assert "0 sent and 0 received in 11 calls" in session.problems[0].reason
    lengths = [len(request.prompt) for request in session.requests]
    assert lengths == list(range(2, 33, 3))
    for one, other in zip(session.requests, session.requests[1:], strict=False):
        assert one.prompt.common_length(other.prompt) == len(one.prompt)
