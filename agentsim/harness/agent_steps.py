"""What an agent does, one step after the other. Immutable; sizes are tokens, durations nanoseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentsim.core.prompt import Section
from agentsim.harness.prompt_part import PromptPart

Calls = Literal["parallel", "one_per_round", "script"]
"""How tool calls of one answer are sent: together, one a request, or inside one script."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One tool call: its own size, that of its result, and how long the tool takes."""

    tokens: int
    result: int
    took: int = 0
    name: str | None = None


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person says something after a pause: a new turn begins. One block for each size."""

    blocks: tuple[int, ...]
    pause: int = 0


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the model answers with tool calls; their results are appended. ``style`` is how the calls are made
    where that is not the harness's usual way. ``took`` and ``first_token`` are set where the service is not asked."""

    calls: tuple[ToolCall, ...] = ()
    style: Calls | None = None
    thinking: int = 0
    text: int = 0
    took: int | None = None
    first_token: int | None = None


class WordsReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request that the model answers with words: the turn ends."""

    text: int
    thinking: int = 0
    took: int | None = None
    first_token: int | None = None


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent with work of its own: ``own`` tokens of instructions, ``steps``, an answer of ``reply`` tokens, and a
    model (``None``: that of the fan-out)."""

    own: int
    steps: tuple[Step, ...] = ()
    reply: int = 400
    model: str | None = None


class FanOut(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the model answers by starting subagents. Each gets the shared brief and instructions of its own,
    makes ``rounds`` and answers with ``reply`` tokens, which come back to the parent as results; a :class:`Child` says
    itself what it does. ``pause`` is how long the harness takes to start them, ``model`` that of the subagents
    (``None``: the harness's usual one)."""

    children: tuple[int | Child, ...]
    model: str | None = None
    text: int = 0
    shared: tuple[PromptPart, ...] = ()
    rounds: tuple[Round, ...] = ()
    reply: int = 400
    took: int | None = None
    first_token: int | None = None
    child_took: int | None = None
    pause: int = 0


class LoadTool(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool is needed that may not be there: the harness loads it in its way. ``after`` names the tool that it follows
    when the list of tools is rewritten (``None``: the last one)."""

    name: str
    tokens: int
    after: str | None = None


class Tools(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The list of tools changes, whatever the way of loading: one comes in, or one goes."""

    insert: str | None = None
    tokens: int = 0
    after: str | None = None
    remove: str | None = None


class ChangeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the requests change: name and canonical JSON value (``None``: no longer sent). ``model`` switches
    the model."""

    values: tuple[tuple[str, str | None], ...] = ()
    model: str | None = None


class Restart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The harness is closed and resumes this history after ``pause``. ``same_prefix`` is False where the first system
    block is not rebuilt with the same bytes (a new version, a new snapshot of the working copy)."""

    pause: int = 0
    version: str | None = None
    same_prefix: bool = True


class Compact(msgspec.Struct, frozen=True, gc=False):
    """A person asks for a compaction."""


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Nothing happens for so long, with the session open."""

    pause: int


class WrittenBlock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A block of a request that is written out in full."""

    name: str
    tokens: int
    section: Section = "messages"
    mark: bool = False


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """A request written out in full, which grows from nothing. ``stop_unless_read`` ends the task when the cache gave
    nothing."""

    pieces: tuple[WrittenBlock, ...]
    output: int = 0
    pause: int = 0
    took: int | None = None
    first_token: int | None = None
    stop_unless_read: bool = False
    purpose: Literal["main", "probe"] = "probe"


Step = User | Round | WordsReply | FanOut | LoadTool | Tools | ChangeSettings | Restart | Compact | Wait | Send
