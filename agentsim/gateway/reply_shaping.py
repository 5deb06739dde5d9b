"""A reply made to fit what its request demands: a tool that has to be called, a format, words at which to stop."""

from __future__ import annotations

from typing import Any

import msgspec

from agentsim.gateway.schema_example import example_of
from agentsim.gateway.scripted_reply import ChatRequest, Demands, Part, Say, ScriptedReply, Use, cut, tokens_of

_encode = msgspec.json.encode


def shaped(reply: ScriptedReply, asked: ChatRequest) -> ScriptedReply:
    """The reply as its request demands it, and within the tokens that it may have."""
    demands = asked.demands
    if demands is not None:
        reply = _with_call(reply, asked, demands)
        reply = _in_format(reply, asked, demands)
        reply = _stopped(reply, asked, demands)
    return cut(reply, asked.max_tokens, asked.model)


def _with_call(reply: ScriptedReply, asked: ChatRequest, demands: Demands) -> ScriptedReply:
    calls = [part for part in reply.parts if isinstance(part, Use)]
    if demands.no_call and calls:
        kept = tuple(part for part in reply.parts if not isinstance(part, Use)) or (Say("Done."),)
        return _made(reply, kept, asked, "end_turn")
    if demands.call is None or not asked.tools:
        return reply
    if any(not demands.call or part.tool == demands.call for part in calls):
        return reply
    tool = next((tool for tool in asked.tools if tool.name == demands.call), asked.tools[0])
    value: Any = "text" if tool.free else _example(demands.call_schema)
    if not tool.free and not isinstance(value, dict):
        value = {}
    prefix = "toolu_agentsim" if asked.dialect == "messages" else "call_agentsim"
    use = Use(f"{prefix}{asked.turn + 1:04d}99", tool.name, value)
    others = tuple(part for part in reply.parts if not isinstance(part, Use))
    return _made(reply, (*others, use), asked, "tool_use")


def _in_format(reply: ScriptedReply, asked: ChatRequest, demands: Demands) -> ScriptedReply:
    if not demands.schema or any(isinstance(part, Use) for part in reply.parts):
        return reply
    said = "".join(part.text for part in reply.parts if isinstance(part, Say))
    try:
        msgspec.json.decode(said)
        return reply  # a script that says JSON knows what it says
    except msgspec.MsgspecError:
        text = _encode(_example(demands.schema)).decode()
    others = tuple(part for part in reply.parts if not isinstance(part, Say))
    return _made(reply, (*others, Say(text)), asked, reply.stop)


def _stopped(reply: ScriptedReply, asked: ChatRequest, demands: Demands) -> ScriptedReply:
    for number, part in enumerate(reply.parts):
        if not isinstance(part, Say):
            continue
        places = [(at, word) for word in demands.stops if word and (at := part.text.find(word)) >= 0]
        if places:
            at, word = min(places)
            kept = (*reply.parts[:number], *((Say(part.text[:at]),) if at else ()))
            return msgspec.structs.replace(_made(reply, kept, asked, "stop_sequence"), stopped_at=word)
    return reply


def _made(reply: ScriptedReply, parts: tuple[Part, ...], asked: ChatRequest, stop: Any) -> ScriptedReply:
    return msgspec.structs.replace(reply, parts=parts, stop=stop, tokens=tokens_of(parts, asked.model))


def _example(schema: bytes) -> Any:
    try:
        return example_of(msgspec.json.decode(schema) if schema else {})
    except (msgspec.MsgspecError, RecursionError):
        return {}
