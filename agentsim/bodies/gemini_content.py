"""Gemini's generateContent: its bodies in the blocks of a Messages body, and what its answers count.

``promptTokenCount`` includes ``cachedContentTokenCount``; thoughts come on top of the candidates' tokens. The answers
report no writes: the implicit cache has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.bodies.sse import data_of, is_stream
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow, Count, decode

Json = dict[str, Any]


class GeminiUsage(msgspec.Struct, gc=False):
    """``usageMetadata``."""

    promptTokenCount: Count | None = None
    candidatesTokenCount: Count | None = None
    cachedContentTokenCount: Count | None = None
    thoughtsTokenCount: Count | None = None
    toolUsePromptTokenCount: Count | None = None


class _Candidate(msgspec.Struct, gc=False):
    finishReason: str | None = None


class _Answer(msgspec.Struct, gc=False):
    """An answer or a chunk of one; ``response`` holds it where a gateway wraps it."""

    responseId: str | None = None
    modelVersion: str | None = None
    candidates: list[_Candidate] | None = None
    usageMetadata: GeminiUsage | None = None
    response: _Answer | None = None


_bodies = msgspec.json.Decoder(dict[str, Any])
_answers = msgspec.json.Decoder(_Answer)
_lists = msgspec.json.Decoder(list[_Answer])


def messages_body(data: bytes, model: str | None) -> bytes:
    """A body's contents in the shape of a Messages body. Raises BadRow when it is none."""
    sent = decode(_bodies, data)
    named = sent.get("model")
    inner = sent.get("request")
    if isinstance(inner, dict) and "contents" in inner:  # the coding assistant's gateway
        sent = inner
    contents = sent.get("contents")
    if not isinstance(contents, list):
        raise BadRow("bad field", "contents")
    shown = named if isinstance(named, str) else model or ""
    made: Json = {"model": shown.removeprefix("models/"), "messages": []}
    for content in contents:
        if not isinstance(content, dict):
            raise BadRow("bad field", "contents[]")
        role = "assistant" if content.get("role") == "model" else "user"
        made["messages"].append({"role": role, "content": _blocks(content.get("parts"))})
    system = sent.get("systemInstruction", sent.get("system_instruction"))
    parts = _blocks(system.get("parts")) if isinstance(system, dict) else []
    if parts:
        made["system"] = parts
    tools = [tool for group in sent.get("tools") or () for tool in _tools(group)]
    if tools:
        made["tools"] = tools
    config = sent.get("generationConfig")
    if isinstance(config, dict):
        if isinstance(config.get("maxOutputTokens"), int):
            made["max_tokens"] = config["maxOutputTokens"]
        if isinstance(config.get("thinkingConfig"), dict):
            made["thinking"] = config["thinkingConfig"]
    return msgspec.json.encode(made)


def _blocks(given: object) -> list[Json]:
    blocks: list[Json] = []
    for part in given if isinstance(given, list) else ():
        if not isinstance(part, dict) or not part:
            raise BadRow("bad field", "parts")
        call = part.get("functionCall")
        result = part.get("functionResponse")
        if isinstance(call, dict):
            blocks.append({"type": "tool_use", "id": call.get("id"), "name": call.get("name"),
                           "input": call.get("args") or {}})  # fmt: skip
        elif isinstance(result, dict):
            text = msgspec.json.encode(result.get("response")).decode()
            blocks.append({"type": "tool_result", "tool_use_id": result.get("id") or result.get("name"),
                           "content": [{"type": "text", "text": text}]})  # fmt: skip
        elif isinstance(part.get("text"), str):
            thought = part.get("thought") is True
            blocks.append({"type": "thinking", "thinking": part["text"]} if thought else
                          {"type": "text", "text": part["text"]})  # fmt: skip
        else:
            kind = next(iter(part))
            blocks.append({"type": kind, "value": part[kind]})
    return blocks


def _tools(group: object) -> Iterator[Json]:
    if not isinstance(group, dict):
        raise BadRow("bad field", "tools[]")
    declared = group.get("functionDeclarations", group.get("function_declarations"))
    if not isinstance(declared, list):
        kind = next(iter(group), "tool")
        yield {"name": kind, "description": msgspec.json.encode(group).decode(), "input_schema": {"type": "object"}}
        return
    for one in declared:
        if not isinstance(one, dict):
            raise BadRow("bad field", "tools[]")
        schema = one.get("parameters", one.get("parametersJsonSchema"))
        yield {"name": one.get("name") or "", "description": one.get("description") or "",
               "input_schema": schema or {"type": "object"}}  # fmt: skip


def read_answer(data: bytes) -> MessagesReply:
    """What an answer says: whole, a list of chunks, or a stream of them. Raises BadRow when it is none."""
    start = data.lstrip()
    if start.startswith(b"["):
        chunks = decode(_lists, data)
    elif is_stream(start):
        chunks = []
        for raw in data_of(data):
            try:
                chunks.append(decode(_answers, raw))
            except BadRow as bad:
                if bad.reason == "bad counter":
                    raise
    else:
        chunks = [decode(_answers, data)]
    chunks = [chunk.response or chunk for chunk in chunks]
    stops = [one.finishReason for chunk in chunks for one in chunk.candidates or () if one.finishReason]
    counted = [chunk.usageMetadata for chunk in chunks if chunk.usageMetadata is not None]
    return MessagesReply(
        id=next((chunk.responseId for chunk in chunks if chunk.responseId), None),
        model=next((chunk.modelVersion for chunk in chunks if chunk.modelVersion), None),
        stop_reason=stops[-1] if stops else None,
        usage=gemini_usage(counted[-1]) if counted else None,
        output_final=bool(stops),
    )


def gemini_usage(sent: GeminiUsage) -> Usage:
    """Counters without overlap; a counter of cached tokens that is left out is 0 here. Raises BadRow."""
    spoken = (sent.candidatesTokenCount, sent.thoughtsTokenCount)
    output = None if spoken == (None, None) else sum(count or 0 for count in spoken)
    total = sent.promptTokenCount
    if total is not None:
        total += sent.toolUsePromptTokenCount or 0
    read = sent.cachedContentTokenCount or (0 if total is not None else None)
    return input_includes_cached(total, read, None, output)
