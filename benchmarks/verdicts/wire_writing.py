"""A conversation as a body of the Messages, Chat Completions or Responses API."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from benchmarks.verdicts.wire_positions import Json, compact

if TYPE_CHECKING:
    from benchmarks.verdicts.simulated_agent import Agent


def write_body(agent: Agent) -> Json:
    """What the agent would send now."""
    api = agent.rules.api
    if api == "messages":
        return _messages(agent)
    return _chat(agent) if api == "chat" else _responses(agent)


def _messages(agent: Agent) -> Json:
    settings = copy.deepcopy(agent.settings)
    body: Json = {"model": agent.rules.model, "max_tokens": settings.pop("max_tokens", 32_000)}
    effort = settings.pop("effort", None)
    if effort is not None:
        body["output_config"] = {"effort": effort}
    body.update(settings)
    if agent.tools:
        body["tools"] = copy.deepcopy(agent.tools)
    if agent.system:
        body["system"] = [{"type": "text", "text": text} for text in agent.system]
    body["messages"] = copy.deepcopy(agent.messages)
    for place, lifetime in agent.marked(agent) if agent.marked is not None else ():
        marker: Json = {"type": "ephemeral"} if lifetime == 300 else {"type": "ephemeral", "ttl": "1h"}
        block = _place(body, place)
        if block is not None:
            block["cache_control"] = marker
    return body


def _place(body: Json, place: str) -> Json | None:
    """The block that a marker of this name stands on."""
    found: Json | None
    if place == "tools":
        found = body["tools"][-1] if body.get("tools") else None
    elif place == "system":
        found = body["system"][-1] if body.get("system") else None
    elif place.startswith("block:"):
        message, part = place[6:].split(".")
        found = body["messages"][int(message)]["content"][int(part)]
    else:
        users = [message for message in body["messages"] if message["role"] == "user"]
        wanted = -1 if place == "last" else -2
        if len(users) < -wanted:
            return None
        content = users[wanted]["content"]
        found = content[-1] if isinstance(content, list) else None
    return found


def _chat(agent: Agent) -> Json:
    body: Json = {"model": agent.rules.model, **copy.deepcopy(agent.settings)}
    effort = body.pop("effort", None)
    if effort is not None:
        body["reasoning_effort"] = effort
    schema = body.pop("text_format", None)
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    if agent.tools:
        body["tools"] = [{"type": "function", "function": _function(tool)} for tool in agent.tools]
    messages: list[Json] = [{"role": "system", "content": "\n\n".join(agent.system)}] if agent.system else []
    for message in agent.messages:
        content = message["content"]
        if isinstance(content, str):
            messages.append({"role": message["role"], "content": content})
        elif message["role"] == "assistant":
            messages.append(_chat_reply(content))
        else:
            messages += _chat_input(content)
    body["messages"] = messages
    return body


def _function(tool: Json) -> Json:
    return {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}


def _chat_reply(content: list[Json]) -> Json:
    text = "".join(block["text"] for block in content if block["type"] == "text")
    reply: Json = {"role": "assistant", "content": text or None}
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": compact(block["input"])},
        }
        for block in content
        if block["type"] == "tool_use"
    ]
    if calls:
        reply["tool_calls"] = calls
    return reply


def _chat_input(content: list[Json]) -> list[Json]:
    out: list[Json] = []
    blocks: list[Json] = []
    for block in content:
        if block["type"] == "tool_result":
            out.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": _flat(block["content"])})
        elif block["type"] == "image":
            url = f"data:{block['source']['media_type']};base64,{block['source']['data']}"
            blocks.append({"type": "image_url", "image_url": {"url": url}})
        else:
            blocks.append({"type": "text", "text": block["text"]})
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        out.append({"role": "user", "content": blocks[0]["text"]})
    elif blocks:
        out.append({"role": "user", "content": blocks})
    return out


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "".join(piece["text"] for piece in content)


def _responses(agent: Agent) -> Json:
    settings = copy.deepcopy(agent.settings)
    body: Json = {"model": agent.rules.model}
    effort = settings.pop("effort", None)
    if effort is not None:
        body["reasoning"] = {"effort": effort}
    text = {"verbosity": settings.pop("verbosity", None)}
    schema = settings.pop("text_format", None)
    text["format"] = None if schema is None else {"type": "json_schema", "name": "answer", "schema": schema}
    body |= {"text": stated} if (stated := {key: value for key, value in text.items() if value is not None}) else {}
    body.update(settings)
    if agent.tools:
        body["tools"] = [{"type": "function", **_function(tool)} for tool in agent.tools]
    if agent.system:
        body["instructions"] = "\n\n".join(agent.system)
    items: list[Json] = []
    for message in agent.messages:
        content = message["content"]
        blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        said: list[Json] = []
        for block in blocks:
            if block["type"] == "text":
                said.append({"type": kind, "text": block["text"]})
            elif block["type"] == "image":
                url = f"data:{block['source']['media_type']};base64,{block['source']['data']}"
                said.append({"type": "input_image", "image_url": url})
            elif block["type"] == "tool_use":
                items += _said(message["role"], said)
                said = []
                call = {"call_id": block["id"], "name": block["name"], "arguments": compact(block["input"])}
                items.append({"type": "function_call", **call})
            elif block["type"] == "tool_result":
                output = {"call_id": block["tool_use_id"], "output": _flat(block["content"])}
                items.append({"type": "function_call_output", **output})
        items += _said(message["role"], said)
    body["input"] = items
    return body


def _said(role: str, blocks: list[Json]) -> list[Json]:
    return [{"type": "message", "role": role, "content": blocks}] if blocks else []
