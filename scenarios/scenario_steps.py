"""The steps of a script as people write them: tables with ``do = "..."``. Sizes are tokens, times seconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from agentsim.scenarios.scenario_numbers import ScenarioTable, decimal_up_to

Tokens = Annotated[int, Meta(ge=0, le=10**9)]
Seconds = Annotated[Decimal, decimal_up_to(Decimal(10**8))]
Rounds = Annotated[int, Meta(ge=0, le=10_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class PartTable(ScenarioTable, frozen=True, kw_only=True):
    """A named piece of a prompt."""

    name: Name
    tokens: Tokens


class _Step(ScenarioTable, frozen=True, kw_only=True):
    times: Annotated[int, Meta(ge=1, le=100_000, description="How often the step is done.")] = 1


class UserStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="user"):
    """A person says something; a turn begins."""

    tokens: Tokens
    blocks: Annotated[int, Meta(ge=1, le=10_000, description="Blocks of that size each.")] = 1
    pause: Annotated[Seconds, Meta(description="How long after the turn before.")] = Decimal(0)


class CallTable(ScenarioTable, frozen=True, kw_only=True):
    """One tool call."""

    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(0)
    name: Name | None = None


class RoundStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="round"):
    """A request that is answered with tool calls, and their results. ``calls`` writes several calls out; else there is
    one, of ``call``, ``result`` and ``tool_time``."""

    text: Tokens = 0
    thinking: Tokens = 0
    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(0)
    calls: tuple[CallTable, ...] | None = None
    style: Annotated[
        Literal["parallel", "one_per_round", "script"] | None,
        Meta(description="How these calls are made, where that is not as [harness.calls] says."),
    ] = None
    took: Annotated[Seconds | None, Meta(description="How long the answer takes, where [service] is not asked.")] = None
    first_token: Seconds | None = None


class ReplyStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="reply"):
    """A request that is answered with words; the turn ends."""

    text: Tokens = 300
    thinking: Tokens = 0
    took: Seconds | None = None
    first_token: Seconds | None = None


class ChildTable(ScenarioTable, frozen=True, kw_only=True):
    """A subagent: ``tokens`` of instructions (a number alone), and work of its own, ``rounds`` or ``steps`` (which
    may start subagents, too). What is left out is as the fan-out says."""

    ALONE: ClassVar[dict[str, Any]] = {"type": "integer", "minimum": 0}

    tokens: Tokens
    rounds: Rounds | None = None
    round_text: Tokens | None = None
    call: Tokens | None = None
    result: Tokens | None = None
    tool_time: Seconds | None = None
    reply: Tokens | None = None
    model: Name | None = None
    steps: Annotated[tuple[StepTable, ...] | None, Meta(description="Instead of rounds.")] = None

    @classmethod
    def from_written(cls, value: Any) -> Any:
        """A number alone is the size of the instructions."""
        return value if isinstance(value, dict) else {"tokens": value}

    def __post_init__(self) -> None:
        own = (self.rounds, self.round_text, self.call, self.result, self.tool_time)
        if self.steps is not None and any(value is not None for value in own):
            raise ValueError("expected either rounds or steps")


class FanOutStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="fan_out"):
    """A request that is answered by starting subagents. Each does so many ``rounds`` of one call, and answers."""

    children: Annotated[
        tuple[ChildTable, ...],
        Meta(min_length=1, max_length=10_000, description="Own instructions of each, or a table of what it does."),
    ]
    model: Annotated[Name | None, Meta(description="Model of the subagents.")] = None
    text: Tokens = 0
    rounds: Rounds = 0
    round_text: Tokens = 60
    call: Tokens = 120
    result: Tokens = 1_000
    tool_time: Seconds = Decimal(1)
    reply: Tokens = 400
    shared: Annotated[tuple[PartTable, ...], Meta(description="What all of them are told, in front of that.")] = ()
    took: Seconds | None = None
    first_token: Seconds | None = None
    child_took: Seconds | None = None
    pause: Annotated[Seconds, Meta(description="How long the harness takes to start them.")] = Decimal(0)


class LoadStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="load"):
    """A tool is needed that may not be there; it is loaded as [harness.tools] says."""

    name: Name
    tokens: Tokens
    after: Name | None = None


class ToolsStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="tools"):
    """The list of tools changes, whatever the strategy."""

    insert: Name | None = None
    tokens: Tokens = 0
    after: Name | None = None
    remove: Name | None = None

    def __post_init__(self) -> None:
        if self.insert is None and self.remove is None:
            raise ValueError("expected insert or remove")


class SettingsStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="settings"):
    """Parameters of requests change from here on."""

    values: dict[Name, Any] = msgspec.field(default_factory=dict)
    unset: tuple[Name, ...] = ()
    model: Name | None = None


class RestartStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="restart"):
    """The harness is closed, and resumes the history after a pause."""

    pause: Seconds = Decimal(0)
    version: Name | None = None
    same_prefix: bool = True


class CompactStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="compact"):
    """A person asks for a compaction, whatever the size."""


class WaitStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="wait"):
    """Nothing happens for a while; the harness stays open."""

    pause: Seconds


class PieceTable(PartTable, frozen=True, kw_only=True):
    """A block of a request that is written out in full."""

    section: Literal["tools", "system", "messages"] = "messages"
    mark: bool = False


class SendStep(_Step, frozen=True, kw_only=True, tag_field="do", tag="send"):
    """A request that is written out in full and grows from nothing."""

    prompt: Annotated[tuple[PieceTable, ...], Meta(min_length=1, max_length=100_000)]
    output: Tokens = 100
    pause: Seconds = Decimal(0)
    took: Seconds | None = None
    first_token: Seconds | None = None
    stop_unless_read: bool = False


StepTable = (
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
    | SendStep
)
