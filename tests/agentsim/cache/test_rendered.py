"""Prompts that a provider does not see as they were sent: dropped thinking, and the scaffold of tools that change."""

from __future__ import annotations

import pytest

from agentsim.bodies import MessagesReader
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Usage
from agentsim.diagnose.relax import judge_bodies
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import block, prompt, request, session

HEAD = [block("tools", 3_000, "tools"), block("rules", 3_000, "system", role=None)]
ASK = block("do it", 100)
THOUGHT = block("hm", 400, kind="thinking", role="assistant")
CALL = block("ls", 50, kind="tool_use", role="assistant")
RESULT = block("files", 800, kind="tool_result")
DONE = block("done", 60, role="assistant")
NEXT = block("and now the tests", 40)
KEEP_ALL = '{"edits":[{"keep":"all","type":"clear_thinking_20251015"}]}'

TURN = [*HEAD, ASK, THOUGHT, CALL, RESULT]
"""6,000 tokens of head; the question ends at 6,100, the result at 7,350."""


def marked(blocks: list[Block]) -> Prompt:
    """Breakpoints behind the system text and on the last block."""
    return prompt(blocks, 1, len(blocks) - 1)


def turns(model: str, **settings: str) -> list[Request]:
    """A question, the result of its tool, and the next question."""
    prompts = [marked([*HEAD, ASK]), marked(TURN), marked([*TURN, DONE, NEXT])]
    return [request(f"{n}", 20 * n, body, model=model, settings=settings) for n, body in enumerate(prompts)]


def reads(requests: list[Request], backend: ModeledProvider | None = None) -> list[int | None]:
    return [row.usage.read for row in scan(session(requests), backend or ModeledProvider()).rows]


@pytest.mark.parametrize(
    "model", ["claude-opus-4-5", "claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-5", "claude-haiku-5-5"]
)
def test_models_that_keep_thinking_read_their_history(model: str) -> None:
    assert reads(turns(model)) == [0, 6_100, 7_350]


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-1-20250805", "claude-opus-4-20250514", "claude-sonnet-4-5", "claude-sonnet-4-20250514",
     "claude-haiku-4-5-20251001", "claude-3-7-sonnet-20250219"],
)  # fmt: skip
def test_models_that_drop_thinking_lose_what_stands_behind_it_at_the_next_turn(model: str) -> None:
    # A tool's result belongs to the turn: all is read. At the next question all up to the first thought is.
    assert reads(turns(model)) == [0, 6_100, 6_100]


def test_a_request_may_ask_for_thinking_to_be_kept() -> None:
    assert reads(turns("claude-sonnet-4-5", context_management=KEEP_ALL)) == [0, 6_100, 7_350]


def test_the_rule_can_be_switched_off() -> None:
    kept = ModeledProvider(rules_for("anthropic", "claude-sonnet-4-5", None).with_(thinking="kept"))
    assert reads(turns("claude-sonnet-4-5"), kept) == [0, 6_100, 7_350]


def test_the_turn_after_goes_on_from_what_was_rendered() -> None:
    more = [*TURN, DONE, NEXT, THOUGHT, CALL, block("passed", 90, kind="tool_result")]
    requests = [*turns("claude-sonnet-4-5"), request("3", 60, marked(more), model="claude-sonnet-4-5")]
    # 7,450 tokens to the end of the second question, whose prefix without the first thought was written.
    assert reads(requests) == [0, 6_100, 6_100, 7_450]


def test_another_history_in_the_same_lane_is_seen_anew() -> None:
    other = [*HEAD, ASK, block("another thought", 300, kind="thinking", role="assistant"), CALL, RESULT, DONE, NEXT]
    requests = [*turns("claude-sonnet-4-5"), request("3", 60, marked(other), model="claude-sonnet-4-5")]
    # Without their thoughts the two histories are the same: 7,450 - 400 tokens were written, and are 7,350 here.
    assert reads(requests) == [0, 6_100, 6_100, 7_350]


def test_a_long_conversation_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    plain = Prompt.__getitem__

    def counted(self: Prompt, at: int) -> Block:
        nonlocal looked
        looked += 1
        return plain(self, at)

    blocks, requests = [*HEAD, ASK, THOUGHT, DONE, NEXT], []
    for number in range(150):
        blocks = [*blocks, CALL, block(f"result {number}", 10, kind="tool_result")]
        body = prompt(blocks, len(blocks) - 1)
        requests.append(request(f"{number}", number, body, model="claude-sonnet-4-5"))
    monkeypatch.setattr(Prompt, "__getitem__", counted)
    assert all(reads(requests)[1:])
    assert looked < 150 * 20  # and not 150 * 150


def test_the_thinking_that_was_dropped_is_the_cause() -> None:
    told = [Usage(fresh=0, write_short=6_100, read=0), Usage(fresh=0, write_short=1_250, read=6_100),
            Usage(fresh=0, write_short=1_350, read=6_100)]  # fmt: skip
    requests = [
        request(f"{n}", 20 * n, one.prompt, model="claude-sonnet-4-5", usage=usage)
        for n, (one, usage) in enumerate(zip(turns("claude-sonnet-4-5"), told, strict=True))
    ]
    verdict = judge_bodies(session(requests))[-1]
    assert (verdict.kind, verdict.cause, verdict.evidence, verdict.lost) == ("miss", "AS402", "proved", 1_250)
    assert verdict.predicted == 6_100


TOOLS: list[dict[str, object]] = [{"name": "read", "description": "Reads a file. " * 400}]
PLACEHOLDER: dict[str, object] = {"name": "later", "defer_loading": True, "input_schema": {"type": "object"}}
SYSTEM = [{"type": "text", "text": "The rules of the house. " * 800, "cache_control": {"type": "ephemeral"}}]


def added(tools: list[dict[str, object]]) -> list[Request]:
    """A conversation into which a tool comes at its second request, in a message of the system."""
    mark = {"cache_control": {"type": "ephemeral"}}
    ask = {"role": "user", "content": [{"type": "text", "text": "go", **mark}]}
    tool = {"type": "tool_addition", "tool_definition": {"name": "write", "description": "Writes a file."}}
    late = {"role": "system", "content": [{**tool, **mark}]}
    reader = MessagesReader()
    requests, before = [], None
    for number, messages in enumerate(([ask], [ask, late])):
        body = {"model": "claude-opus-4-8", "tools": tools, "system": SYSTEM, "messages": messages}
        read = reader.read(body, before)
        before = read.prompt
        requests.append(request(f"{number}", 20 * number, read.prompt, settings=dict(read.settings)))
    return requests


def test_the_first_tool_that_comes_late_loses_everything() -> None:
    first, second = added(TOOLS)
    assert second.prompt is not None
    assert first.prompt is not None
    assert second.prompt.common_length(first.prompt) == len(first.prompt)  # nothing in front of it changed
    assert reads([first, second]) == [0, 0]
    verdict = judge_bodies(session([first, second]))[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS407")
    assert any("tool_changes" in sentence for sentence in verdict.established)


def test_with_a_deferred_tool_from_the_start_it_loses_nothing() -> None:
    first, second = added([*TOOLS, PLACEHOLDER])
    assert first.prompt is not None
    assert reads([first, second]) == [0, first.prompt.tokens]


def test_a_deferred_tool_is_no_part_of_the_prompt() -> None:
    plain, deferred = added(TOOLS)[0].prompt, added([*TOOLS, PLACEHOLDER])[0].prompt
    assert plain is not None
    assert deferred is not None
    assert deferred.chain(len(deferred)) == plain.chain(len(plain))


def test_a_prewarming_request_costs_what_it_writes_and_no_output() -> None:
    body = marked([*HEAD, ASK])
    warm = request("warm", 0, body, usage=Usage(output=0))
    real = request("real", 20, body, usage=Usage(output=10))
    first, second = scan(session([warm, real]), ModeledProvider()).rows
    # Opus 4.8: 6.25, 0.50 and 25 dollars for a million tokens written, read and answered; 10**6 picodollars a token.
    assert first.cost == 6_100 * 6_250_000
    assert second.cost == 6_100 * 500_000 + 10 * 25_000_000
