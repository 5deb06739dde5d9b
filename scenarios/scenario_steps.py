"""The steps of a script as people write them: tables with ``do = "..."``. Sizes are tokens, times seconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

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


class FanOutStep(_Step):
    """A request that is answered by starting subagents."""

    do: Literal["fan_out"]
    children: Annotated[
        tuple[Tokens, ...], Field(min_length=1, max_length=10_000, description="Own instructions of each.")
    ]
    text: Tokens = 0
    shared: Annotated[tuple[PartTable, ...], Field(description="What all of them are told, in front of that.")] = ()
    rounds: Annotated[int, Field(ge=0, le=10_000)] = 0
    round_text: Tokens = 60
    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(1)
    reply: Tokens = 400
    took: Seconds | None = None
    first_token: Seconds | None = None
    child_took: Seconds | None = None
    pause: Annotated[Seconds, Field(description="How long the harness takes to start them.")] = Decimal(0)


class LoadStep(_Step):
    """A tool is needed that was not there; it is loaded as [harness.tools] says."""

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
