"""The steps of a script as people write them: tables with ``do = "..."``. Sizes are tokens, times seconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agentsim.scenarios.scenario_numbers import ScenarioTable

Tokens = Annotated[int, Field(ge=0, le=10**9)]
Seconds = Annotated[Decimal, Field(ge=0, le=10**8)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class PartTable(ScenarioTable):
    """A named piece of a prompt."""

    name: Name
    tokens: Tokens


class _Step(ScenarioTable):
    times: Annotated[int, Field(ge=1, le=100_000, description="How often the step is done.")] = 1


class UserStep(_Step):
    """A person says something; a turn begins."""

    do: Literal["user"]
    tokens: Tokens
    blocks: Annotated[int, Field(ge=1, le=10_000, description="Blocks of that size each.")] = 1
    pause: Annotated[Seconds, Field(description="How long after the turn before.")] = Decimal(0)


class CallTable(ScenarioTable):
    """One tool call."""

    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(0)
    name: Name | None = None


class RoundStep(_Step):
    """A request that is answered with tool calls, and their results. ``calls`` writes several calls out; else there is
    one, of ``call``, ``result`` and ``tool_time``."""

    do: Literal["round"]
    text: Tokens = 0
    thinking: Tokens = 0
    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(0)
    calls: tuple[CallTable, ...] | None = None
    style: Annotated[
        Literal["parallel", "one_per_round", "script"] | None,
        Field(description="How these calls are made, where that is not as [harness.calls] says."),
    ] = None
    took: Annotated[Seconds | None, Field(description="How long the answer takes, where [service] is not asked.")] = (
        None
    )
    first_token: Seconds | None = None


class ReplyStep(_Step):
    """A request that is answered with words; the turn ends."""

    do: Literal["reply"]
    text: Tokens = 300
    thinking: Tokens = 0
    took: Seconds | None = None
    first_token: Seconds | None = None


class _Work(ScenarioTable):
    """What a subagent does: so many rounds of one call each, and an answer."""

    rounds: Annotated[int, Field(ge=0, le=10_000)] = 0
    round_text: Tokens = 60
    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(1)
    reply: Tokens = 400


class ChildTable(_Work):
    """A subagent: ``tokens`` of instructions (a number alone), and work of its own, ``rounds`` or ``steps`` (which
    may start subagents, too). What is left out is as the fan-out says."""

    tokens: Tokens
    model: Name | None = None
    steps: Annotated[tuple[StepTable, ...] | None, Field(description="Instead of rounds.")] = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        return {"tokens": value} if isinstance(value, int) and not isinstance(value, bool) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A number alone stands for the instructions."""
        return {"anyOf": [{"type": "integer", "minimum": 0}, handler(core_schema)]}

    @model_validator(mode="after")
    def _one_of_them(self) -> ChildTable:
        if self.steps is not None and {"rounds", "round_text", "call", "result", "tool_time"} & self.model_fields_set:
            raise ValueError("expected either rounds or steps")
        return self


class FanOutStep(_Work, _Step):
    """A request that is answered by starting subagents."""

    do: Literal["fan_out"]
    children: Annotated[
        tuple[ChildTable, ...],
        Field(min_length=1, max_length=10_000, description="Own instructions of each, or a table of what it does."),
    ]
    model: Annotated[Name | None, Field(description="Model of the subagents.")] = None
    text: Tokens = 0
    shared: Annotated[tuple[PartTable, ...], Field(description="What all of them are told, in front of that.")] = ()
    took: Seconds | None = None
    first_token: Seconds | None = None
    child_took: Seconds | None = None
    pause: Annotated[Seconds, Field(description="How long the harness takes to start them.")] = Decimal(0)


class LoadStep(_Step):
    """A tool is needed that may not be there; it is loaded as [harness.tools] says."""

    do: Literal["load"]
    name: Name
    tokens: Tokens
    after: Name | None = None


class ToolsStep(_Step):
    """The list of tools changes, whatever the strategy."""

    do: Literal["tools"]
    insert: Name | None = None
    tokens: Tokens = 0
    after: Name | None = None
    remove: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> ToolsStep:
        if self.insert is None and self.remove is None:
            raise ValueError("expected insert or remove")
        return self


class SettingsStep(_Step):
    """Parameters of requests change from here on."""

    do: Literal["settings"]
    values: Annotated[dict[Name, Any], Field(default_factory=dict)]
    unset: tuple[Name, ...] = ()
    model: Name | None = None


class RestartStep(_Step):
    """The harness is closed, and resumes the history after a pause."""

    do: Literal["restart"]
    pause: Seconds = Decimal(0)
    version: Name | None = None
    same_prefix: bool = True


class CompactStep(_Step):
    """A person asks for a compaction, whatever the size."""

    do: Literal["compact"]


class WaitStep(_Step):
    """Nothing happens for a while; the harness stays open."""

    do: Literal["wait"]
    pause: Seconds


class PieceTable(PartTable):
    """A block of a request that is written out in full."""

    section: Literal["tools", "system", "messages"] = "messages"
    mark: bool = False


class SendStep(_Step):
    """A request that is written out in full and grows from nothing."""

    do: Literal["send"]
    prompt: Annotated[tuple[PieceTable, ...], Field(min_length=1, max_length=100_000)]
    output: Tokens = 100
    pause: Seconds = Decimal(0)
    took: Seconds | None = None
    first_token: Seconds | None = None
    stop_unless_read: bool = False


StepTable = Annotated[
    UserStep
    | RoundStep
    | ReplyStep
    | FanOutStep
    | LoadStep
    | ToolsStep
    | SettingsStep
    | RestartStep
    | CompactStep
    | WaitStep
    | SendStep,
    Field(discriminator="do"),
]

ChildTable.model_rebuild()
FanOutStep.model_rebuild()
