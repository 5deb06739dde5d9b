"""Conversations whose heads are one but for text that changes by itself, under a provider with breakpoints."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import MessagesReader
from agentsim.core.session import Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies
from tests.agentsim.prompts import request, session

MARK = {"cache_control": {"type": "ephemeral"}}
RULES = "The rules of the house. " * 800


def conversations(
    *heads: str, gap: int = 20, marked: bool = True, read: int = 0
) -> tuple[Session, tuple[Verdict, ...]]:
    """Requests that each begin a conversation, with these system texts in front of the same rules."""
    requests = []
    for number, head in enumerate(heads):
        system: list[dict[str, Any]] = [{"type": "text", "text": head + RULES, **(MARK if marked else {})}]
        message = {"role": "user", "content": [{"type": "text", "text": f"Question {number} " * 20}]}
        body = {"model": "claude-sonnet-4-5", "system": system, "messages": [message]}
        found = MessagesReader().read(body)
        prompt = found.prompt
        end = prompt.tokens_until(1)
        got = read if number else 0
        written = end - got if marked else 0
        usage = Usage(read=got, write_short=written, write_long=0, fresh=prompt.tokens - got - written, output=9)
        requests.append(
            request(str(number), gap * number, prompt, settings=dict(found.settings), lane=f"l{number}", usage=usage)
        )
    made = session(requests)
    return made, judge_bodies(made)


@pytest.mark.parametrize(
    ("one", "two", "cause"),
    [
        ("It is 15:09:20. ", "It is 15:09:34. ", "AS111"),
        ("Conversation 8c1f2a. ", "Conversation 90bd33. ", "AS111"),
        ("Be  brief. ", "Be brief. ", "AS128"),
    ],
)
def test_a_head_that_changes_by_itself_is_named(one: str, two: str, cause: str) -> None:
    made, verdicts = conversations(one, two)
    assert verdicts[0].kind == "first"
    assert (verdicts[1].kind, verdicts[1].cause, verdicts[1].evidence) == ("miss", cause, "proved")
    usage = made.requests[1].usage
    assert usage is not None
    assert 0 < verdicts[1].lost <= (usage.write or 0)


def test_other_heads_are_no_loss() -> None:
    assert conversations("You plan. ", "You test. ")[1][1].kind == "first", "two agents, on purpose"
    assert conversations("It is 15:09:20. ", "It is 15:09:34. ", marked=False)[1][1].kind == "uncached"
    assert conversations("It is 15:09:20. ", "It is 15:15:20. ", gap=300)[1][1].kind == "miss"
    assert conversations("It is 15:09:20. ", "It is 15:15:21. ", gap=301)[1][1].kind == "first", "it had expired"


@given(st.lists(st.sampled_from(["at 10:00:01 ", "at 10:00:07 ", "at 10:09:59 ", "plan ", "test "]), max_size=6))
def test_what_is_lost_was_sent_again(heads: list[str]) -> None:
    made, verdicts = conversations(*heads)
    for one, verdict in zip(made.requests, verdicts, strict=True):
        assert one.usage is not None
        assert verdict.lost <= (one.usage.write or 0) + (one.usage.fresh or 0)
        if verdict.kind == "miss" and verdict.cause == "AS111":
            assert verdict.place is not None
            assert verdict.place.change == "volatile"
