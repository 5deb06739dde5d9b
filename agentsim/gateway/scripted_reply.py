"""What an emulated model says, before it takes the shape of an API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from agentsim.core.prompt import Prompt
from agentsim.core.session import Purpose
from agentsim.core.tokens import estimate_quickly, scale
from agentsim.traces.capture_lanes import AskingAgent

Dialect = Literal["messages", "chat", "responses", "gemini"]

Stop = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"]
"""Why a reply ends, in the words of the Messages API; the other dialects translate them."""


class Say(msgspec.Struct, frozen=True, tag="text"):
    """Text for the user."""

    text: str


class Think(msgspec.Struct, frozen=True, tag="thinking"):
    """Reasoning."""

    text: str


class Use(msgspec.Struct, frozen=True, tag="tool_use"):
    """A call of a tool. ``input`` is an object, or the bare text that a free-form tool takes."""

    id: str
    tool: str
    input: dict[str, Any] | str


Part = Say | Think | Use


class ScriptedReply(msgspec.Struct, frozen=True):
    """All parts of a reply, why it ends, and how many tokens it is. After it the emulated clock jumps ahead by
    ``pause`` nanoseconds: time passes for the cache, but nobody waits. ``unfitted``: calls were wanted, and the request
    offers none of their tools. ``stopped_at`` is the word at which it ends, where it ends at one."""

    parts: tuple[Part, ...]
    stop: Stop
    tokens: int
    pause: int = 0
    unfitted: bool = False
    stopped_at: str | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool that a harness offers. ``free`` takes plain text instead of an object."""

    name: str
    free: bool = False


class Demands(msgspec.Struct, frozen=True, kw_only=True):
    """What a request demands of its reply. ``call`` names a tool that has to be called (empty: any), ``no_call``
    forbids all; ``schema`` is what the text has to satisfy as JSON; ``stops`` are words at which it ends."""

    call: str | None = None
    no_call: bool = False
    call_schema: bytes = b""
    schema: bytes = b""
    stops: tuple[str, ...] = ()


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as far as its answer depends on it.

    ``turn`` is how many times the assistant has spoken in its history; ``heard`` is the text of the last message.
    ``compare_with`` is the id of the answer whose request the provider shall compare with, ``compare`` whether the
    client asked for that at all. ``silent`` wants the cache filled and nothing said; ``compacts`` wants a summary that
    takes the place of the history. ``echoed`` is what the answer repeats of the request.
    """

    dialect: Dialect
    provider: str
    model: str
    session: str
    prompt: Prompt
    settings: tuple[tuple[str, str], ...]
    tools: tuple[Tool, ...]
    turn: int
    messages: int
    heard: str = ""
    max_tokens: int | None = None
    stream: bool = False
    compare: bool = False
    compare_with: str | None = None
    silent: bool = False
    compacts: bool = False
    echoed: dict[str, Any] = msgspec.field(default_factory=dict)
    purpose: Purpose = "main"
    agent: AskingAgent | None = None
    demands: Demands | None = None


class _Format(msgspec.Struct):
    type: str | None = None
    schema: msgspec.Raw = msgspec.Raw(b"")
    json_schema: msgspec.Raw = msgspec.Raw(b"")


_formats = msgspec.json.Decoder(_Format)


def schema_in(format: bytes) -> bytes:
    """The schema of a format that a reply has to have, as JSON; empty where it may be any text."""
    try:
        found = _formats.decode(format)
        inner = _formats.decode(found.json_schema) if bytes(found.json_schema) else found
    except msgspec.MsgspecError:
        return b""
    if found.type == "json_object":
        return b"{}"
    return bytes(inner.schema) if found.type == "json_schema" else b""


def tokens_of(parts: tuple[Part, ...], model: str) -> int:
    """About how many tokens a reply takes; at least one unless it is empty."""
    return sum(scale(_estimate(part), model) for part in parts)


def _estimate(part: Part) -> int:
    if not isinstance(part, Use):
        return estimate_quickly(part.text)
    text = part.input if isinstance(part.input, str) else msgspec.json.encode(part.input).decode()
    return estimate_quickly(part.tool) + estimate_quickly(text)


def pieces(text: str, size: int) -> Iterator[str]:
    """The text in pieces of about so many characters, as a stream delivers it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def summed_up(reply: ScriptedReply, model: str) -> ScriptedReply:
    """The reply as the one text that takes the place of a history."""
    words = "\n".join(part.text for part in reply.parts if isinstance(part, Say)) or "Nothing was said."
    parts = (Say(words),)
    tokens = reply.tokens if reply.parts == parts else tokens_of(parts, model)
    return ScriptedReply(parts, "max_tokens" if reply.stop == "max_tokens" else "end_turn", tokens, reply.pause)


def cut(reply: ScriptedReply, most: int | None, model: str) -> ScriptedReply:
    """The reply within ``most`` tokens: what goes beyond is left out, and it stops for that reason."""
    if most is None or reply.tokens <= most:
        return reply
    kept: list[Part] = []
    left = most
    for part in reply.parts:
        size = tokens_of((part,), model)
        if size <= left:
            kept.append(part)
            left -= size
            continue
        if not isinstance(part, Use) and left > 0:
            kept.append(type(part)(part.text[: len(part.text) * left // size]))
        break
    return msgspec.structs.replace(reply, parts=tuple(kept), stop="max_tokens", tokens=most)
