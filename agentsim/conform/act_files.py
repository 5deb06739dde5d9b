"""Acts: what a harness is asked to do, and what a cache-friendly one does then. Each is a file."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

import msgspec

from agentsim.core.session import Purpose
from agentsim.core.written_files import WrittenFile
from agentsim.gateway.answer_script import AnswerScript, ScriptedToolCall, ScriptedTurn, shell_calls

Ability = Literal["shell", "resume", "model", "effort", "instructions", "mcp", "fork", "subagents", "window"]
"""What an act may need of a harness."""


class ActStep(msgspec.Struct, frozen=True):
    """One run of the harness. ``goes_on`` continues the conversation of the step before, in a new process; ``fork``
    does so under a name of its own. ``before`` is a shell command that runs in the project first; ``folder`` another
    project beside the first one; ``model`` and ``effort`` say ``first`` or ``other``; ``jump`` puts the clock of the
    endpoint forward by so many seconds first."""

    prompt: str
    goes_on: bool = False
    fork: bool = False
    before: str = ""
    folder: str = "project"
    model: str = "first"
    effort: str = "first"
    environment: dict[str, str] = {}
    jump: float = 0


class ActTurn(msgspec.Struct, frozen=True):
    """What the model says once: commands for the shell tool and tasks for subagents, all in one reply, and text."""

    text: str | None = None
    shell: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    mcp: bool = False
    lane: Purpose | None = None
    repeat: int = 1
    pad: int = 0
    pause: float = 0


class Act(msgspec.Struct, frozen=True):
    """An act. ``friendly`` says what a cache-friendly harness does, and why. ``window`` and ``faults`` are those of the
    endpoint; ``mcp`` offers the tools of a small local server. ``inherent`` are causes whose first loss is what was
    asked for: no harness could avoid it."""

    title: str
    friendly: str
    step: tuple[ActStep, ...]
    turn: tuple[ActTurn, ...] = ()
    needs: tuple[Ability, ...] = ()
    window: int | None = None
    faults: tuple[str, ...] = ()
    mcp: bool = False
    inherent: tuple[str, ...] = ()
    name: str = ""


def act_names() -> list[str]:
    """The names of the bundled acts, in the order of their files."""
    found = files("agentsim.scenarios").joinpath("acts").iterdir()
    return sorted(item.name.removesuffix(".toml") for item in found if item.name.endswith(".toml"))


def act(name: str) -> Act:
    """A bundled act. Raises FileNotFoundError, and WrittenFileError for a file that is none."""
    text = files("agentsim.scenarios").joinpath("acts", f"{name}.toml").read_text("utf-8")
    return parse_act(name, text)


def parse_act(name: str, text: str) -> Act:
    """An act from its text. Raises WrittenFileError."""
    return msgspec.structs.replace(WrittenFile(text, f"{name}.toml").as_a(Act), name=name)


def script_of(act: Act, finish: str | None = None) -> AnswerScript:
    """What the emulated model says in an act. ``finish`` is a command that the harness wants for an end."""
    turns = tuple(_turn(turn, finish) for turn in act.turn)
    after = ScriptedTurn(text="All is done.", call=shell_calls(finish)) if finish else None
    ends = (msgspec.structs.replace(after, repeat=1000),) if after is not None else ()
    return AnswerScript(turn=turns + ends, after="All is done.", aside="A short title")


def _turn(turn: ActTurn, finish: str | None) -> ScriptedTurn:
    calls = [call for command in turn.shell for call in shell_calls(command)]
    calls += [call for task in turn.tasks for call in _task_calls(task)]
    if turn.mcp:
        calls += [ScriptedToolCall(name, {"text": "hello"}) for name in _MCP]
    if finish and not calls:
        calls = list(shell_calls(finish))
    return ScriptedTurn(
        text=turn.text, call=tuple(calls), lane=turn.lane, repeat=turn.repeat, pad=turn.pad, pause=turn.pause
    )


_MCP = ("mcp__little__alpha", "mcp_little_alpha", "little_alpha", "little__alpha")


def _task_calls(task: str) -> tuple[ScriptedToolCall, ...]:
    """The same task for the subagent tool of each harness that is known."""
    words = {"description": "Look around", "prompt": task}
    return (
        ScriptedToolCall("Agent", {**words, "subagent_type": "general-purpose"}),
        ScriptedToolCall("Task", {**words, "subagent_type": "general-purpose"}),
        ScriptedToolCall("task", {**words, "subagent_type": "general"}),
        ScriptedToolCall("agent", {**words, "subagent_type": "general-purpose"}),
    )
