"""Small plans for tests: times that are easy to add, and prices whose ratios are round."""

from __future__ import annotations

from typing import Any

from agentsim.core.dates import SECOND
from agentsim.harness.agent_steps import Round, Step, ToolCall, User, WordsReply
from agentsim.harness.plan import Marks, Plan, PromptLayout, Service, StepSource
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import FixedNumber
from agentsim.harness.step_sources import ScriptedSteps

START = 1_788_256_800 * SECOND  # 2026-09-01T10:00:00Z
MODEL = "claude-opus-4-8"
FRONT = 7_000
LAYOUT = PromptLayout(
    tools=(PromptPart("read", 2_000), PromptPart("edit", 3_000)), system=(PromptPart("system", 2_000),)
)


def plan(*steps: Step, **more: Any) -> Plan:
    """A plan of one agent: 5,000 tokens of tools, 2,000 of system; an answer takes 2 s and 0.01 s a token."""
    source: StepSource = more.pop("source", None) or ScriptedSteps(steps)
    given: dict[str, Any] = {
        "name": "test",
        "source": source,
        "model": MODEL,
        "start": START,
        "layout": LAYOUT,
        "marks": Marks(),
        "service": Service(first_token=FixedNumber(2 * SECOND), output_rate=100),
        **more,
    }
    return Plan(**given)


def ask(tokens: int = 1_000, pause: int = 0) -> User:
    return User(blocks=(tokens,), pause=pause * SECOND)


def tool_round(result: int = 1_000, tool: int = 100, took: int = 1, calls: int = 1) -> Round:
    return Round(calls=(ToolCall(tokens=tool, result=result, took=took * SECOND),) * calls)


def answer(text: int = 100) -> WordsReply:
    return WordsReply(text=text)
