"""Bedrock's Converse: its bodies as the Messages bodies that they become for Claude, and what its answers say.

Cache points are blocks of their own here; each becomes the breakpoint at the end of the block before it. Counters are
disjoint, as Anthropic's are.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentsim.bodies.aws_event_stream import frames_of, is_event_stream
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow, Count, decode

Json = dict[str, Any]


class _Detail(msgspec.Struct, gc=False):
    ttl: str | None = None
    inputTokens: Count | None = None


class _Usage(msgspec.Struct, gc=False):
    inputTokens: Count | None = None
    outputTokens: Count | None = None
    cacheReadInputTokens: Count | None = None
    cacheWriteInputTokens: Count | None = None
    cacheDetails: list[_Detail] | None = None


class _Answer(msgspec.Struct, gc=False):
    stopReason: str | None = None
    usage: _Usage | None = None


_bodies = msgspec.json.Decoder(dict[str, Any])
_answers = msgspec.json.Decoder(_Answer)


def messages_body(data: bytes, model: str | None) -> bytes:
    """The Messages body of a Converse body. Raises BadRow when it is none."""
    sent = decode(_bodies, data)
    made: Json = {"model": sent.get("modelId") or model or "", "messages": _messages(sent.get("messages"))}
    system = _blocks(sent.get("system"))
    if system:
        made["system"] = system
    config = sent.get("toolConfig")
    tools = _tools(config.get("tools")) if isinstance(config, dict) else []
    if tools:
        made["tools"] = tools
    choice = config.get("toolChoice") if isinstance(config, dict) else None
    if isinstance(choice, dict) and choice:
        kind = next(iter(choice))
        inner = choice[kind] if isinstance(choice[kind], dict) else {}
        made["tool_choice"] = {"type": kind, **inner}
    more = sent.get("additionalModelRequestFields")
    made |= (
        {name: more[name] for name in ("thinking", "output_config", "anthropic_beta") if name in more}
        if isinstance(more, dict)
        else {}
    )
    inference = sent.get("inferenceConfig")
    if isinstance(inference, dict) and isinstance(inference.get("maxTokens"), int):
        made["max_tokens"] = inference["maxTokens"]
    return msgspec.json.encode(made)


def _messages(given: object) -> list[Json]:
    if not isinstance(given, list):
        raise BadRow("bad field", "messages")
    return [
        {"role": message.get("role"), "content": _blocks(message.get("content"))}
        for message in given
        if isinstance(message, dict)
    ]


def _blocks(given: object) -> list[Json]:
    blocks: list[Json] = []
    for part in given if isinstance(given, list) else ():
        if not isinstance(part, dict) or not part:
            raise BadRow("bad field", "content")
        kind = next(iter(part))
        inner = part[kind]
        if kind == "cachePoint":
            if blocks:
                blocks[-1]["cache_control"] = _marker(inner)
        elif kind == "text":
            blocks.append({"type": "text", "text": inner})
        elif kind == "toolUse" and isinstance(inner, dict):
            blocks.append({"type": "tool_use", "id": inner.get("toolUseId"), "name": inner.get("name"),
                           "input": inner.get("input") or {}})  # fmt: skip
        elif kind == "toolResult" and isinstance(inner, dict):
            result: Json = {"type": "tool_result", "tool_use_id": inner.get("toolUseId"),
                            "content": _blocks(inner.get("content"))}  # fmt: skip
            if inner.get("status") == "error":
                result["is_error"] = True
            blocks.append(result)
        elif kind == "reasoningContent" and isinstance(inner, dict):
            text = inner.get("reasoningText")
            said = text if isinstance(text, dict) else {}
            blocks.append({"type": "thinking", "thinking": said.get("text") or "", "signature": said.get("signature")})
        else:
            blocks.append({"type": kind, "value": inner})
    return blocks


def _tools(given: object) -> list[Json]:
    tools: list[Json] = []
    for tool in given if isinstance(given, list) else ():
        if not isinstance(tool, dict):
            raise BadRow("bad field", "toolConfig.tools[]")
        if "cachePoint" in tool:
            if tools:
                tools[-1]["cache_control"] = _marker(tool["cachePoint"])
            continue
        spec = tool.get("toolSpec")
        spec = spec if isinstance(spec, dict) else {}
        schema = spec.get("inputSchema")
        schema = schema.get("json") if isinstance(schema, dict) else schema
        tools.append({"name": spec.get("name") or "", "description": spec.get("description") or "",
                      "input_schema": schema or {"type": "object"}})  # fmt: skip
    return tools


def _marker(point: object) -> Json:
    ttl = point.get("ttl") if isinstance(point, dict) else None
    return {"type": "ephemeral", "ttl": ttl} if isinstance(ttl, str) else {"type": "ephemeral"}


def read_answer(data: bytes) -> MessagesReply:
    """What an answer says, whole or streamed. Raises BadRow when it is none."""
    if not is_event_stream(data):
        answer = decode(_answers, data)
        return _reply(answer.stopReason, answer.usage, whole=True)
    stop: str | None = None
    usage: _Usage | None = None
    for event, payload in frames_of(data):
        if event not in ("messageStop", "metadata"):
            continue
        try:
            told = decode(_answers, payload)
        except BadRow as bad:
            if bad.reason == "bad counter":
                raise
            continue
        stop, usage = told.stopReason or stop, told.usage or usage
    return _reply(stop, usage, whole=usage is not None)


def _reply(stop: str | None, sent: _Usage | None, *, whole: bool) -> MessagesReply:
    usage = None
    if sent is not None:
        by_ttl = {detail.ttl: detail.inputTokens or 0 for detail in sent.cacheDetails or ()}
        short, long = by_ttl.get("5m", 0), by_ttl.get("1h", 0)
        split = bool(by_ttl) and short + long == (sent.cacheWriteInputTokens or 0)
        usage = Usage(
            fresh=sent.inputTokens,
            read=sent.cacheReadInputTokens,
            write_short=short if split else None,
            write_long=long if split else None,
            write_other=None if split else sent.cacheWriteInputTokens,
            output=sent.outputTokens,
        )
    return MessagesReply(stop_reason=stop, usage=usage, output_final=whole)
