"""Scripts: what an emulated model says, turn by turn, written by hand in TOML or JSON.

A turn may think, say something and call tools. Calls of tools that the harness does not offer are left out, so that one
script serves several harnesses: write a call for each of them, and each gets its own.
"""

from __future__ import annotations

import json
import string
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from agentsim.core.dates import SECOND
from agentsim.core.session import Purpose
from agentsim.core.written_files import WrittenFile, read_text
from agentsim.gateway.scripted_reply import ChatRequest, Part, Say, ScriptedReply, Stop, Think, Tool, Use, tokens_of

MOST_BYTES = 4 * 2**20
MOST_PAUSE = 30 * 24 * 3600
_HEARD = 2_000


class ScriptedToolCall(msgspec.Struct, frozen=True):
    """A call of a tool. ``input`` is an object, or the text of a free-form tool."""

    tool: str
    input: dict[str, Any] | str = {}


class ScriptedTurn(msgspec.Struct, frozen=True):
    """What is said once. ``lane`` limits it to a kind of lane; ``stop`` overrides why the reply ends; ``repeat`` says
    it several times; ``pad`` lengthens the text to about so many tokens; ``pause`` is how many seconds the emulated
    clock jumps ahead afterwards, as if a tool or a person had taken that long."""

    text: str | None = None
    thinking: str | None = None
    call: tuple[ScriptedToolCall, ...] = ()
    stop: Stop | None = None
    lane: Purpose | None = None
    repeat: Annotated[int, Meta(ge=1, le=100_000)] = 1
    pad: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    pause: Annotated[float, Meta(ge=0, le=MOST_PAUSE)] = 0


class AnswerScript(msgspec.Struct, frozen=True):
    """Turns in order, what is said once they are over (``after``), and to requests that offer no tools (``aside``).
    ``summary`` is what a compaction on the server puts in the place of the history."""

    turn: tuple[ScriptedTurn, ...] = ()
    after: str = "Done."
    aside: str = "ok"
    summary: str = "A summary of the conversation before turn ${turn}."

    def reply(self, asked: ChatRequest) -> ScriptedReply:
        """What is said to a request. The turn is counted by what the history holds, so a retry hears the same again."""
        if asked.compacts:
            return self._made(asked, ScriptedTurn(text=self.summary))
        if not asked.tools and asked.purpose in ("helper", "probe", "summary"):
            return self._made(asked, ScriptedTurn(text=self.aside))
        turns = [turn for turn in self.turn if turn.lane in (None, asked.purpose) for _ in range(turn.repeat)]
        turn = turns[asked.turn] if asked.turn < len(turns) else ScriptedTurn(text=self.after)
        return self._made(asked, turn)

    def _made(self, asked: ChatRequest, turn: ScriptedTurn) -> ScriptedReply:
        words = {
            "turn": str(asked.turn + 1),
            "model": asked.model,
            "session": asked.session,
            "heard": asked.heard[:_HEARD],
        }
        parts: list[Part] = []
        if turn.thinking is not None:
            parts.append(Think(_filled(turn.thinking, words)))
        if turn.text is not None or turn.pad:
            text = _filled(turn.text or "", words)
            parts.append(Say(_padded(text, turn.pad)))
        offered = {tool.name: tool for tool in asked.tools}
        for number, call in enumerate(turn.call, 1):
            tool = offered.get(call.tool)
            if tool is not None:
                parts.append(_use(tool, call, f"{_prefix(asked)}{asked.turn + 1:04d}{number:02d}", words))
        if not parts:
            parts.append(Say(self.after))
        stop = turn.stop or ("tool_use" if any(isinstance(part, Use) for part in parts) else "end_turn")
        unfitted = bool(turn.call and offered) and not any(isinstance(part, Use) for part in parts)
        tokens = tokens_of(tuple(parts), asked.model)
        return ScriptedReply(tuple(parts), stop, tokens, round(turn.pause * SECOND), unfitted)


def _use(tool: Tool, call: ScriptedToolCall, id: str, words: dict[str, str]) -> Use:
    value = _filled_deeply(call.input, words)
    if tool.free and not isinstance(value, str):
        value = json.dumps(value)
    if not tool.free and isinstance(value, str):
        value = {"input": value}
    return Use(id, tool.name, value)


def _prefix(asked: ChatRequest) -> str:
    return "toolu_agentsim" if asked.dialect == "messages" else "call_agentsim"


def _filled(text: str, words: dict[str, str]) -> str:
    return string.Template(text).safe_substitute(words) if "$" in text else text


def _filled_deeply(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _filled(value, words)
    if isinstance(value, list):
        return [_filled_deeply(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _filled_deeply(item, words) for key, item in value.items()}
    return value


_FILLER = "All work and no cache makes a dull agent. "


def _padded(text: str, tokens: int) -> str:
    """The text, lengthened to about so many tokens."""
    missing = tokens * 4 - len(text)
    return text if missing <= 0 else text + (" " if text else "") + (_FILLER * (missing // len(_FILLER) + 1))[:missing]


def load_script(file: str) -> AnswerScript:
    """Read a script, TOML or JSON by its suffix. Raises WrittenFileError."""
    return parse_script(read_text(file, MOST_BYTES), file)


def parse_script(text: str, file: str) -> AnswerScript:
    """A script from its text. Raises WrittenFileError."""
    return WrittenFile(text, file).as_a(AnswerScript)


def shell_calls(command: str) -> tuple[ScriptedToolCall, ...]:
    """The same command for the shell tool of each harness that is known."""
    return (
        ScriptedToolCall("Bash", {"command": command, "description": "Print a line"}),
        ScriptedToolCall("bash", {"command": command}),
        ScriptedToolCall("exec_command", {"cmd": command}),
        ScriptedToolCall("shell", {"command": ["bash", "-lc", command]}),
        ScriptedToolCall("shell_command", {"command": command}),
        ScriptedToolCall("run_shell_command", {"command": command}),
        ScriptedToolCall("execute_command", {"command": command, "requires_approval": False}),
        ScriptedToolCall("run_commands", {"commands": [command]}),
        ScriptedToolCall("terminal", {"command": command}),
        ScriptedToolCall("execute_bash", {"command": command}),
        ScriptedToolCall("exec", f"text(await tools.exec_command({{cmd: {json.dumps(command)}}}));"),
    )


DEFAULT = AnswerScript(
    turn=(
        ScriptedTurn(text="I will look around first.", call=shell_calls("echo one")),
        ScriptedTurn(text="Then the second step.", call=shell_calls("echo two")),
        ScriptedTurn(text="And the last one.", call=shell_calls("echo three")),
    ),
    after="All three steps are done.",
)
"""What is said without a script: three harmless commands in the harness's own shell tool, then a closing word."""
