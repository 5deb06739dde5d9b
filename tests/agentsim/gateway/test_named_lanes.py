"""Lanes by what harnesses say of their agents, and by what is learnt later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import parse_script
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.request_headers import asked_by
from agentsim.traces.readers.agentsim1 import read_sessions
from tests.agentsim.gateway.serving import BASH, MODEL, WORDS, Served, serving

pytestmark = pytest.mark.loopback
pytest.importorskip("anthropic")

SYSTEM = [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}]


def ask(served: Served, headers: dict[str, str], *texts: str, **more: Any) -> Any:
    messages = [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(texts)]
    body = {"model": MODEL, "max_tokens": 50, "tools": [BASH], "system": SYSTEM, "messages": messages, **more}
    with served.anthropic() as client:
        return client.messages.create(**body, extra_headers=headers)


def agent(id: str | None, parent: str | None = None) -> dict[str, str]:
    found = {"x-claude-code-session-id": "one"}
    if id is not None:
        found["x-claude-code-agent-id"] = id
    if parent is not None:
        found["x-claude-code-parent-agent-id"] = parent
    return found


def lanes_of(session: Session) -> list[tuple[str, str, str | None]]:
    return [(lane.id, lane.purpose, lane.parent) for lane in session.lanes]


def test_fifteen_agents_with_one_prompt_lose_nothing(tmp_path: Path) -> None:
    """All begin with the same words, and take turns: only what the harness says tells them apart."""
    with serving(tmp_path) as served:
        ask(served, agent(None), "go")
        for turn in (1, 3):
            for number in range(14):
                talk = ("same words", f"answer {number}", f"more {number}")[:turn]
                ask(served, agent(f"agent-{number}"), *talk)
        ask(served, agent(None), "go", "well", "on")
    (session,) = served.sessions()
    assert len(session.lanes) == 15
    assert [len([one for one in session.requests if one.lane == lane.id]) for lane in session.lanes] == [2] * 15
    assert "miss" not in [verdict.kind for verdict in diagnose(session).verdicts]


def test_agents_have_the_parents_that_the_harness_names(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        ask(served, agent(None), "go")
        ask(served, agent("a"), "look")
        ask(served, agent("b", "a"), "look deeper")
    (session,) = served.sessions()
    assert lanes_of(session) == [
        ("main", "main", None),
        ("subagent", "subagent", "main"),
        ("subagent-2", "subagent", "subagent"),
    ]


def test_a_session_begun_by_another_is_an_agent_of_it(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        ask(served, {"x-session-id": "s1"}, "go")
        ask(served, {"x-session-id": "s2", "x-parent-session-id": "s1"}, "look")
        ask(served, {"x-session-id": "s3", "x-parent-session-id": "s2"}, "look deeper")
    (session,) = served.sessions()
    assert session.id == "s1"
    assert [parent for _, _, parent in lanes_of(session)] == [None, "main", "subagent"]


@pytest.mark.parametrize("fingerprint", [False, True])
def test_a_title_that_is_asked_for_first_is_no_main_agent(tmp_path: Path, fingerprint: bool) -> None:
    script = parse_script('[[turn]]\nlane = "main"\ntext = "x"\ncall = [{tool = "Bash", input = {}}]', "s.toml")
    with serving(tmp_path, fingerprint=fingerprint, replier=script) as served:
        ask(served, {}, "a title for: go", tools=[], model="claude-haiku-4-5")
        answer = ask(served, {}, "go")
        assert answer.content[-1].type == "tool_use", "the script reaches the main agent"
        ask(served, {}, "another title", tools=[], model="claude-haiku-4-5")
        provisional = list(read_sessions([str(served.trace)]))
        assert len(provisional[0].requests) == 3
    (session,) = served.sessions()
    assert [lane.purpose for lane in session.lanes] == ["helper", "main"]
    assert [request.purpose for request in session.requests] == ["helper", "main", "helper"]
    assert session.requests[0].lane == session.requests[2].lane == session.lanes[0].id
    assert session.requests[1].parent is None


def test_an_agent_without_tools_stays_the_main_one(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        ask(served, {}, "go", tools=[])
        ask(served, {}, "go", "well", "on", tools=[])
    (session,) = served.sessions()
    assert lanes_of(session) == [("main", "main", None)]


def test_after_a_summary_the_agent_goes_on_behind_another_billing_header(tmp_path: Path) -> None:
    def headed(suffix: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.332.{suffix};"}, *SYSTEM]

    with serving(tmp_path) as served:
        ask(served, agent(None), "go", "well", "on", system=headed("aaa"))
        wanted = "Your task is to create a detailed summary of the conversation so far."
        ask(served, agent(None), "go", "well", "on", "fine", wanted, system=headed("aaa"))
        ask(served, agent(None), "This session is being continued.", "yes", "go on", system=headed("bbb"))
    (session,) = served.sessions()
    assert lanes_of(session) == [("main", "main", None)]
    assert [request.purpose for request in session.requests] == ["main", "summary", "main"]
    assert [event.kind for event in session.events] == ["compaction"]
    assert "miss" not in [verdict.kind for verdict in diagnose(session).verdicts]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=20))
def test_a_named_agent_has_one_lane_whatever_it_says(calls: list[tuple[int, bool]]) -> None:
    """For any order of agents and of conversations anew: one lane for each name, and each name in one lane."""
    import json

    from agentsim.cache.modeled_provider import ModeledProvider
    from agentsim.gateway.answer_script import DEFAULT
    from agentsim.gateway.anthropic.messages_request import MessagesBodies, asked_of

    emulator = Emulator(backends={"anthropic": ModeledProvider()}, replier=DEFAULT, clock=lambda: 10**18)
    bodies, found = MessagesBodies(), dict[str, set[str]]()
    for number, (name, anew) in enumerate(calls):
        text = f"talk {number}" if anew else "the same"
        body = json.dumps(
            {"model": MODEL, "max_tokens": 9, "tools": [BASH], "messages": [{"role": "user", "content": text}]}
        ).encode()
        headers = {key.encode(): value.encode() for key, value in agent(f"agent {name}").items()}
        conversation, who = emulator.sessions.of(asked_by(headers))
        sent = bodies.sent(body)
        prompt, chosen = bodies.prompt(body, sent, conversation)
        arrived = emulator.arrive(asked_of(sent, conversation.id, prompt, chosen, who), conversation)
        conversation.remember(arrived.placed, arrived.call, prompt)
        found.setdefault(f"agent {name}", set()).add(arrived.placed.lane)
    assert all(len(lanes) == 1 for lanes in found.values())
    assert len({lane for lanes in found.values() for lane in lanes}) == len(found)
