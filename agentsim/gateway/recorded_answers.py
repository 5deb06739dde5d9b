"""Answers as a trace recorded them, for a harness that runs the same session again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agentsim.bodies.canonical_block import split_text
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Purpose, Request, Session
from agentsim.gateway.scripted_reply import ChatRequest, Part, Say, ScriptedReply, Think, Use, tokens_of

OVER = "The recording ends here."
_STOPS = frozenset(("end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"))


class NoRecordedAnswers(ValueError):
    """A trace that holds no answers: its text was left out, or it has no bodies."""


class RecordedAnswers:
    """What was answered in recorded sessions.

    An answer is found by the very prompt that it was given to; else, because dates and paths change between runs, by
    the kind of its lane and how many times the assistant had spoken before.
    """

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._by_prompt: dict[bytes, ScriptedReply] = {}
        self._by_turn: dict[tuple[Purpose, int], ScriptedReply] = {}
        for session in sessions:
            self._take(session)
        if not self._by_turn:
            raise NoRecordedAnswers("no answer in it: a trace to replay needs full bodies, with their text")

    def reply(self, asked: ChatRequest) -> ScriptedReply:
        """What was said then. The same request hears the same again."""
        found = self._by_prompt.get(asked.prompt.digest) or self._by_turn.get((asked.purpose, asked.turn))
        if found is None:
            said = Say(OVER) if asked.tools else Say("ok")
            return ScriptedReply((said,), "end_turn", tokens_of((said,), asked.model))
        offered = {tool.name for tool in asked.tools}
        parts = tuple(part for part in found.parts if not isinstance(part, Use) or part.tool in offered)
        if len(parts) == len(found.parts):
            return found
        stop = found.stop if any(isinstance(part, Use) for part in parts) else "end_turn"
        return ScriptedReply(parts or (Say(OVER),), stop, found.tokens)

    def _take(self, session: Session) -> None:
        last: dict[str, Request] = {}
        by_id: dict[str, Request] = {}
        turns: dict[str, int] = {}
        """How many times the assistant had spoken before a request, summed up or not."""
        summed: dict[str, int] = {}
        """By lane: how many of them a summary stands for."""
        for request in session.requests:
            before = last.get(request.lane)
            parent = by_id.get(request.parent or "") or before
            by_id[request.id] = last[request.lane] = request
            if request.prompt is None:
                continue
            summary = None if before is None or before.purpose != "summary" else _summary(before, request.prompt)
            if before is not None and summary is not None:
                summed[request.lane] = turns.get(before.id, 0)
                self._keep(before, summary, summed[request.lane])
            turns[request.id] = summed.get(request.lane, 0) + _turns(request.prompt)
            if parent is not None and parent.prompt is not None:
                reply = _reply(parent, request.prompt)
                if reply is not None:
                    self._keep(parent, reply, turns.get(parent.id, 0))

    def _keep(self, request: Request, reply: ScriptedReply, turn: int) -> None:
        assert request.prompt is not None
        self._by_prompt.setdefault(request.prompt.digest, reply)
        self._by_turn.setdefault((request.purpose, turn), reply)


def _summary(request: Request, later: Prompt) -> ScriptedReply | None:
    """What was said to a request for a summary on the server, as the prompt after it holds it."""
    if request.prompt is None:
        return None
    blocks = (later[at] for at in range(later.section_end("system"), len(later)))
    text = next((block.text for block in blocks if block.kind == "compaction"), None)
    if text is None:
        return None
    output = request.usage.output if request.usage is not None else None
    said = (Say(text),)
    return ScriptedReply(said, "end_turn", tokens_of(said, request.model) if output is None else output)


def _reply(request: Request, later: Prompt) -> ScriptedReply | None:
    """What was said to a request, as the prompt after it repeats it."""
    assert request.prompt is not None
    shared = request.prompt.common_length(later)
    parts: list[Part] = []
    for at in range(shared, len(later)):
        block = later[at]
        if block.role != "assistant":
            break
        part = _part(block)
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    made = tuple(parts)
    stop = request.stop_reason if request.stop_reason in _STOPS else None
    output = request.usage.output if request.usage is not None else None
    return ScriptedReply(
        made,
        stop or ("tool_use" if any(isinstance(part, Use) for part in made) else "end_turn"),  # type: ignore[arg-type]
        tokens_of(made, request.model) if output is None else output,
    )


def _part(block: Block) -> Part | None:
    if block.text is None:
        return None
    main, rest = split_text(block.text)
    if block.kind == "text":
        return Say(main)
    if block.kind == "thinking":
        return Think(main)
    if block.kind != "tool_use":
        return None
    try:
        value = msgspec.json.decode(main)
        fields: Any = msgspec.json.decode(rest) if rest else {}
    except msgspec.MsgspecError:
        return None
    return _use(block, value, fields)


def _use(block: Block, value: Any, fields: Any) -> Use | None:
    """A call in the shape of whichever API it was recorded from."""
    if not isinstance(value, dict):
        return None
    if isinstance(fields, dict) and isinstance(fields.get("id"), str):
        return Use(fields["id"], block.name or str(fields.get("name", "")), value)
    inner = value.get("function") or value.get("custom") or value
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return None
    arguments = inner.get("arguments", inner.get("input"))
    if "arguments" in inner and isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except msgspec.MsgspecError:
            return None
    if not isinstance(arguments, (dict, str)):
        return None
    return Use(str(value.get("call_id") or value.get("id") or "call"), inner["name"], arguments)


def _turns(prompt: Prompt) -> int:
    """How many times the assistant has spoken in a prompt."""
    turns, spoke = 0, False
    for at in range(prompt.section_end("system"), len(prompt)):
        spoken = prompt[at].role == "assistant"
        turns += spoken and not spoke
        spoke = spoken
    return turns
