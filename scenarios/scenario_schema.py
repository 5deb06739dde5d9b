"""The scenario file: what a simulated agent is made of. ``agentsim trace schema --scenario`` prints its JSON Schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, WithJsonSchema, model_validator

from agentsim.scenarios.scenario_numbers import Distribution, ScenarioTable, number
from agentsim.scenarios.scenario_steps import Name, PartTable, Seconds, StepTable, Tokens

Share = Annotated[Decimal, Field(ge=0, le=1)]
MOST_AGENTS = 10_000_000

_LIFETIME = re.compile(r"(\d{1,6})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def _lifetime(value: Any) -> Any:
    """Seconds from ``"5m"``, ``"1h"``, ``"off"`` or a number of seconds."""
    if value == "off":
        return 0
    match = _LIFETIME.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        return int(match[1]) * _SECONDS[match[2]]
    if isinstance(value, str):
        raise ValueError('expected a lifetime such as "5m" or "1h", or "off"')
    return value


Lifetime = Annotated[
    int,
    BeforeValidator(_lifetime),
    Field(ge=0, le=7 * 86_400),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 7 * 86_400},
                {"type": "string", "pattern": r"^([0-9]{1,6}[smh]|off)$"},
            ]
        }
    ),
]


class Several(ScenarioTable):
    """So many pieces of the same size."""

    count: Annotated[int, Field(ge=0, le=10_000)]
    tokens: Tokens


Parts = tuple[PartTable, ...] | Several


class ModelTable(ScenarioTable):
    """The model that is asked, and the parameters that go with each request."""

    name: Name
    provider: Name = "anthropic"
    window: Annotated[int | None, Field(gt=0, description="Its context window in tokens.")] = None
    settings: Annotated[dict[Name, Any], Field(default_factory=dict)]


class ServiceTable(ScenarioTable):
    """How long answers take. ``first_token`` is a wait in seconds; ``uncached_rate`` tokens a second that are not read
    from the cache add to it (left out: nothing); ``output_rate`` tokens are written a second."""

    first_token: Distribution = number(2)
    uncached_rate: Annotated[int | None, Field(gt=0, le=10**9)] = None
    output_rate: Annotated[int, Field(gt=0, le=10**9)] = 60


class PromptTable(ScenarioTable):
    """What stands in front of each conversation."""

    tools: Parts = ()
    system: Parts = ()
    project: Annotated[Parts, Field(description="Project files, at the head of the first message.")] = ()


class MainPromptTable(PromptTable):
    """What stands in front of the main conversation, and where breakpoints stand."""

    marks: Annotated[tuple[Literal["tools", "system", "project", "previous", "last"], ...], Field(max_length=4)] = (
        "system",
        "last",
    )
    ttl: Lifetime = 300
    subagent_ttl: Lifetime | None = None


class ToolsTable(ScenarioTable):
    """How a tool that is needed later reaches the model."""

    strategy: Literal["rewrite", "deferred", "deferred_late", "fixed", "all"] = "rewrite"
    placeholder: Tokens = 30
    scaffolding: Annotated[Tokens, Field(description="What the provider adds once tools are deferred.")] = 300
    search_tool: Tokens = 220
    call_tool: Tokens = 180
    search: Annotated[
        Tokens, Field(description="Tokens of the call that finds a tool, in a request of its own; 0: none is needed.")
    ] = 60
    catalogue: Annotated[Parts, Field(description="All tools that there are, for the strategy all.")] = ()


class CallsTable(ScenarioTable):
    """How the calls of a round are made."""

    style: Literal["parallel", "one_per_round", "script"] = "parallel"
    script: Annotated[Distribution, Field(description="Tokens of the script that makes the calls.")] = number(400)
    selected: Annotated[Distribution, Field(description="Tokens of the results that it returns.")] = number(800)


class FanOutTable(ScenarioTable):
    """How subagents start."""

    fork: Annotated[bool, Field(description="On the parent's prompt; false: on a fresh one.")] = True
    mark: Annotated[bool, Field(description="A breakpoint at the end of the common brief.")] = False
    wait: Annotated[Literal["none", "first_token", "end"], Field(description="What all but the first wait for.")] = (
        "none"
    )
    wait_at_most: Seconds | None = None
    stagger: Annotated[Seconds, Field(description="How long after one the next one starts.")] = Decimal(0)
    limit: Annotated[int | None, Field(ge=1, description="How many run at a time.")] = None
    model: Annotated[Name | None, Field(description="Model of subagents.")] = None


class CompactionTable(ScenarioTable):
    """When and how the history is replaced by a summary."""

    method: Literal["reuse_prefix", "separate", "server"] = "reuse_prefix"
    trigger: Annotated[int, Field(gt=0, description="Tokens of the prompt.")] = 150_000
    keep: Annotated[Tokens, Field(description="Tokens of the last messages that stay as they are.")] = 0
    summary: Distribution = number(2_000)
    instruction: Tokens = 800
    system: Annotated[Tokens, Field(description="System prompt of a separate request.")] = 600
    transcript: Annotated[Share, Field(description="Share of the history that a separate request is sent.")] = Decimal(
        "0.3"
    )
    model: Annotated[Name | None, Field(description="Model that writes the summary.")] = None

    @model_validator(mode="after")
    def _who_writes(self) -> CompactionTable:
        if self.model is not None and self.method == "server":
            raise ValueError("a server compacts with the model that is asked: leave model out")
        return self


class ClearingTable(ScenarioTable):
    """When old tool results are replaced by stubs."""

    trigger: Annotated[int, Field(gt=0)]
    keep: Annotated[int, Field(ge=0, description="The last results that stay.")] = 3
    protect: Annotated[Tokens, Field(description="The last tokens that stay.")] = 0
    at_least: Annotated[Tokens, Field(description="Tokens that must come free.")] = 0
    stub: Tokens = 12


class HelperTable(ScenarioTable):
    """A call of another model at the start of each turn."""

    model: Name
    tokens: Tokens
    output: Tokens = 20
    seconds: Seconds = Decimal(1)


class HarnessTable(ScenarioTable):
    """The mechanisms. Each is off where it is left out."""

    tools: ToolsTable = ToolsTable()
    calls: CallsTable = CallsTable()
    fan_out: FanOutTable = FanOutTable()
    compaction: CompactionTable | Literal["off"] = "off"
    clearing: ClearingTable | Literal["off"] = "off"
    keep_alive: Annotated[str, Field(description="A policy such as keep-alive-priced, or off.")] = "off"
    helper: HelperTable | None = None


class FailuresTable(ScenarioTable):
    """What goes wrong with requests: shares of attempts, and what the harness does then."""

    rate_limited: Share = Decimal(0)
    overloaded: Share = Decimal(0)
    timed_out: Share = Decimal(0)
    retry_after: Distribution = number(20)
    backoff: Seconds = Decimal(1)
    timeout: Seconds = Decimal(600)
    attempts: Annotated[int, Field(ge=1, le=100)] = 5
    retry: Literal["same_prompt", "new_prefix"] = "same_prompt"

    @model_validator(mode="after")
    def _at_most_all(self) -> FailuresTable:
        if self.rate_limited + self.overloaded + self.timed_out > 1:
            raise ValueError("the shares add up to more than 1")
        return self


class DelegationTable(ScenarioTable):
    """Subagents of a generated task: how often a round starts some, and what they do: all of a fan-out the same
    (``alike``), or each as much as is drawn for it."""

    chance: Share
    children: Distribution = number(3)
    rounds: Distribution = number(3)
    brief: Tokens = 0
    own: Distribution = number(200)
    reply: Distribution = number(600)
    alike: bool = True


class TaskTable(ScenarioTable):
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
        dict[str, tuple[StepTable, ...]],
        Field(default_factory=dict, description="Steps before a turn, by its number."),
    ]

    @model_validator(mode="after")
    def _numbers(self) -> TaskTable:
        for turn in self.before_turn:
            if not turn.isascii() or not turn.isdecimal() or turn == "0":
                raise ValueError(f"before_turn: {turn!r} is not the number of a turn")
        return self


class AgentsTable(ScenarioTable):
    """How many agents do the task, and how many seconds after one the next one starts."""

    count: Annotated[int, Field(ge=1, le=MOST_AGENTS)] = 1
    gap: Distribution = number(0)


class OutcomeTable(ScenarioTable):
    """How often a finished task is accepted. This is an assumption of the scenario, never a result."""

    pass_rate: Share


class ScenarioFile(ScenarioTable):
    """A scenario: agents that do not exist yet, described well enough to be simulated."""

    story: Annotated[str, Field(max_length=2_000, description="Two lines: what it shows.")] = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    start: Annotated[AwareDatetime, Field(description="When the first agent starts; prices depend on it.")] = datetime(
        2026, 9, 1, 10, tzinfo=UTC
    )
    model: ModelTable
    service: ServiceTable = ServiceTable()
    prompt: MainPromptTable = MainPromptTable()
    subagents: Annotated[PromptTable | None, Field(description="What stands in front of fresh subagents.")] = None
    harness: HarnessTable = HarnessTable()
    failures: FailuresTable | None = None
    task: TaskTable | None = None
    script: tuple[StepTable, ...] | None = None
    agents: AgentsTable = AgentsTable()
    outcome: OutcomeTable | None = None
    sweep: Annotated[
        dict[str, tuple[Any, ...]],
        Field(default_factory=dict, description="Keys and the values that they take in turn."),
    ]

    @model_validator(mode="after")
    def _one_task(self) -> ScenarioFile:
        if (self.task is None) == (self.script is None):
            raise ValueError("expected either [task] or [[script]]")
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file."""
    schema = ScenarioFile.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
