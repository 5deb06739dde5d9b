"""The scenario file: what a simulated agent is made of. ``agentsim trace schema --scenario`` prints its JSON Schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from agentsim.core.written_schema import json_schema_of
from agentsim.core.written_types import WrittenForm
from agentsim.scenarios.scenario_numbers import Distribution, ScenarioTable, decimal_up_to, number
from agentsim.scenarios.scenario_steps import Name, PartTable, Seconds, StepTable, Tokens

Share = Annotated[Decimal, decimal_up_to(Decimal(1))]
MOST_AGENTS = 10_000_000

_LIFETIME = re.compile(r"(\d{1,6})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def _lifetime(value: Any) -> int:
    """Seconds from ``"5m"``, ``"1h"``, ``"off"`` or a number of seconds."""
    if value == "off":
        return 0
    match = _LIFETIME.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        value = int(match[1]) * _SECONDS[match[2]]
    if type(value) is not int or not 0 <= value <= LONGEST:
        raise ValueError('expected a lifetime such as "5m" or "1h", or "off"')
    return value


LONGEST = 7 * 86_400
"""Seconds of a lifetime."""

Lifetime = Annotated[
    int,
    WrittenForm(
        _lifetime,
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": LONGEST},
                {"type": "string", "pattern": r"^([0-9]{1,6}[smh]|off)$"},
            ]
        },
    ),
]


class Several(ScenarioTable, frozen=True, kw_only=True):
    """So many pieces of the same size."""

    count: Annotated[int, Meta(ge=0, le=10_000)]
    tokens: Tokens


Parts = tuple[PartTable, ...] | Several


class ModelTable(ScenarioTable, frozen=True, kw_only=True):
    """The model that is asked, and the parameters that go with each request."""

    name: Name
    provider: Name = "anthropic"
    window: Annotated[int | None, Meta(gt=0, description="Its context window in tokens.")] = None
    settings: dict[Name, Any] = msgspec.field(default_factory=dict)


class ServiceTable(ScenarioTable, frozen=True, kw_only=True):
    """How long answers take. ``first_token`` is a wait in seconds; ``uncached_rate`` tokens a second that are not read
    from the cache add to it (left out: nothing); ``output_rate`` tokens are written a second."""

    first_token: Distribution = number(2)
    uncached_rate: Annotated[int | None, Meta(gt=0, le=10**9)] = None
    output_rate: Annotated[int, Meta(gt=0, le=10**9)] = 60


class PromptTable(ScenarioTable, frozen=True, kw_only=True):
    """What stands in front of each conversation."""

    tools: Parts = ()
    system: Parts = ()
    project: Annotated[Parts, Meta(description="Project files, at the head of the first message.")] = ()


class MainPromptTable(PromptTable, frozen=True, kw_only=True):
    """What stands in front of the main conversation, and where breakpoints stand."""

    marks: Annotated[tuple[Literal["tools", "system", "project", "previous", "last"], ...], Meta(max_length=4)] = (
        "system",
        "last",
    )
    ttl: Lifetime = 300
    subagent_ttl: Lifetime | None = None


class ToolsTable(ScenarioTable, frozen=True, kw_only=True):
    """How a tool that is needed later reaches the model."""

    strategy: Literal["rewrite", "deferred", "deferred_late", "fixed", "all"] = "rewrite"
    placeholder: Tokens = 30
    scaffolding: Annotated[Tokens, Meta(description="What the provider adds once tools are deferred.")] = 300
    search_tool: Tokens = 220
    call_tool: Tokens = 180
    search: Annotated[
        Tokens, Meta(description="Tokens of the call that finds a tool, in a request of its own; 0: none is needed.")
    ] = 60
    catalogue: Annotated[Parts, Meta(description="All tools that there are, for the strategy all.")] = ()


class CallsTable(ScenarioTable, frozen=True, kw_only=True):
    """How the calls of a round are made."""

    style: Literal["parallel", "one_per_round", "script"] = "parallel"
    script: Annotated[Distribution, Meta(description="Tokens of the script that makes the calls.")] = number(400)
    selected: Annotated[Distribution, Meta(description="Tokens of the results that it returns.")] = number(800)


class FanOutTable(ScenarioTable, frozen=True, kw_only=True):
    """How subagents start."""

    fork: Annotated[bool, Meta(description="On the parent's prompt; false: on a fresh one.")] = True
    mark: Annotated[bool, Meta(description="A breakpoint at the end of the common brief.")] = False
    wait: Annotated[Literal["none", "first_token", "end"], Meta(description="What all but the first wait for.")] = (
        "none"
    )
    wait_at_most: Seconds | None = None
    stagger: Annotated[Seconds, Meta(description="How long after one the next one starts.")] = Decimal(0)
    limit: Annotated[int | None, Meta(ge=1, description="How many run at a time.")] = None
    model: Annotated[Name | None, Meta(description="Model of subagents.")] = None


class CompactionTable(ScenarioTable, frozen=True, kw_only=True):
    """When and how the history is replaced by a summary."""

    method: Literal["reuse_prefix", "separate", "server"] = "reuse_prefix"
    trigger: Annotated[int, Meta(gt=0, description="Tokens of the prompt.")] = 150_000
    keep: Annotated[Tokens, Meta(description="Tokens of the last messages that stay as they are.")] = 0
    summary: Distribution = number(2_000)
    instruction: Tokens = 800
    system: Annotated[Tokens, Meta(description="System prompt of a separate request.")] = 600
    transcript: Annotated[Share, Meta(description="Share of the history that a separate request is sent.")] = Decimal(
        "0.3"
    )
    model: Annotated[Name | None, Meta(description="Model that writes the summary.")] = None

    def __post_init__(self) -> None:
        if self.model is not None and self.method == "server":
            raise ValueError("a server compacts with the model that is asked: leave model out")


class ClearingTable(ScenarioTable, frozen=True, kw_only=True):
    """When old tool results are replaced by stubs."""

    trigger: Annotated[int, Meta(gt=0)]
    keep: Annotated[int, Meta(ge=0, description="The last results that stay.")] = 3
    protect: Annotated[Tokens, Meta(description="The last tokens that stay.")] = 0
    at_least: Annotated[Tokens, Meta(description="Tokens that must come free.")] = 0
    stub: Tokens = 12


class HelperTable(ScenarioTable, frozen=True, kw_only=True):
    """A call of another model at the start of each turn."""

    model: Name
    tokens: Tokens
    output: Tokens = 20
    seconds: Seconds = Decimal(1)


class HarnessTable(ScenarioTable, frozen=True, kw_only=True):
    """The mechanisms. Each is off where it is left out."""

    tools: ToolsTable = ToolsTable()
    calls: CallsTable = CallsTable()
    fan_out: FanOutTable = FanOutTable()
    compaction: CompactionTable | Literal["off"] = "off"
    clearing: ClearingTable | Literal["off"] = "off"
    keep_alive: Annotated[str, Meta(description="A policy such as keep-alive-priced, or off.")] = "off"
    helper: HelperTable | None = None


class FailuresTable(ScenarioTable, frozen=True, kw_only=True):
    """What goes wrong with requests: shares of attempts, and what the harness does then."""

    rate_limited: Share = Decimal(0)
    overloaded: Share = Decimal(0)
    timed_out: Share = Decimal(0)
    retry_after: Distribution = number(20)
    backoff: Seconds = Decimal(1)
    timeout: Seconds = Decimal(600)
    attempts: Annotated[int, Meta(ge=1, le=100)] = 5
    retry: Literal["same_prompt", "new_prefix"] = "same_prompt"

    def __post_init__(self) -> None:
        if self.rate_limited + self.overloaded + self.timed_out > 1:
            raise ValueError("the shares add up to more than 1")


class DelegationTable(ScenarioTable, frozen=True, kw_only=True):
    """Subagents of a generated task: how often a round starts some, and what they do: all of a fan-out the same
    (``alike``), or each as much as is drawn for it."""

    chance: Share
    children: Distribution = number(3)
    rounds: Distribution = number(3)
    brief: Tokens = 0
    own: Distribution = number(200)
    reply: Distribution = number(600)
    alike: bool = True


class TaskTable(ScenarioTable, frozen=True, kw_only=True):
    """A task whose numbers are drawn: turns of rounds."""

    turns: Distribution = number(1)
    prompt: Distribution = number(200)
    rounds: Distribution = number(5)
    thinking: Distribution = number(0)
    text: Distribution = number(60)
    calls: Distribution = number(1)
    call: Distribution = number(120)
    result: Distribution = number(1_000)
    tool_time: Distribution = number(2)
    reply: Distribution = number(300)
    pause: Distribution = number(60)
    delegation: DelegationTable | None = None
    before_turn: Annotated[
        dict[str, tuple[StepTable, ...]], Meta(description="Steps before a turn, by its number.")
    ] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        for turn in self.before_turn:
            if not turn.isascii() or not turn.isdecimal() or turn == "0":
                raise ValueError(f"before_turn: {turn!r} is not the number of a turn")


class AgentsTable(ScenarioTable, frozen=True, kw_only=True):
    """How many agents do the task, and how many seconds after one the next one starts."""

    count: Annotated[int, Meta(ge=1, le=MOST_AGENTS)] = 1
    gap: Distribution = number(0)


class OutcomeTable(ScenarioTable, frozen=True, kw_only=True):
    """How often a finished task is accepted. This is an assumption of the scenario, never a result."""

    pass_rate: Share


class ScenarioFile(ScenarioTable, frozen=True, kw_only=True):
    """A scenario: agents that do not exist yet, described well enough to be simulated."""

    story: Annotated[str, Meta(max_length=2_000, description="Two lines: what it shows.")] = ""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1
    start: Annotated[datetime, Meta(tz=True, description="When the first agent starts; prices depend on it.")] = (
        datetime(2026, 9, 1, 10, tzinfo=UTC)
    )
    model: ModelTable
    service: ServiceTable = ServiceTable()
    prompt: MainPromptTable = MainPromptTable()
    subagents: Annotated[PromptTable | None, Meta(description="What stands in front of fresh subagents.")] = None
    harness: HarnessTable = HarnessTable()
    failures: FailuresTable | None = None
    task: TaskTable | None = None
    script: tuple[StepTable, ...] | None = None
    agents: AgentsTable = AgentsTable()
    outcome: OutcomeTable | None = None
    sweep: Annotated[dict[str, tuple[Any, ...]], Meta(description="Keys and the values that they take in turn.")] = (
        msgspec.field(default_factory=dict)
    )

    def __post_init__(self) -> None:
        if (self.task is None) == (self.script is None):
            raise ValueError("expected either [task] or [[script]]")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file."""
    return json_schema_of(ScenarioFile)
