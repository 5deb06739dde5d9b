"""Chat Completions bodies that went to Claude, as the Messages bodies that they became.

Clients that speak to every model in one shape have their requests translated before they reach Anthropic: system
messages move to ``system``, functions become tools, calls and results become blocks. Markers for caching stay where
they stood. What is compared afterwards is compared with bodies translated in the same way.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentsim.core.strict_decoding import BadRow

Json = dict[str, Any]


def messages_body(chat: Json, model: str) -> bytes:
    """The Messages body of a chat body. Raises BadRow when it has no list of messages."""
    system, messages = messages_parts(chat)
    body: Json = {"model": model, "messages": messages}
    if system:
        body["system"] = system
    tools = chat.get("tools")
    if isinstance(tools, list) and tools:
        body["tools"] = [_tool(tool) for tool in tools if isinstance(tool, dict)]
    try:
        return msgspec.json.encode(body)
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):
        raise BadRow("bad field", "messages") from None


def messages_parts(chat: Json, places: list[tuple[int, int]] | None = None) -> tuple[list[Json], list[Json]]:
    """The system blocks and the messages of a chat body. Raises BadRow when it has no list of messages.

    ``places`` learns for each message of the chat where its blocks begin: the message of the new body, and the block in
    it.
    """
    given = chat.get("messages")
    if not isinstance(given, list):
        raise BadRow("bad field", "messages")
    system: list[Json] = []
    messages: list[Json] = []
    for message in given:
        if not isinstance(message, dict):
            raise BadRow("bad field", "messages[]")
        role = message.get("role")
        blocks = _blocks(message.get("content"))
        if places is not None:
            same = bool(messages) and messages[-1]["role"] == ("assistant" if role == "assistant" else "user")
            places.append((len(messages) - 1, len(messages[-1]["content"])) if same else (len(messages), 0))
        if role in ("system", "developer"):
            system += blocks
            continue
        if role in ("tool", "function"):
            result: Json = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": blocks}
            _move_marker(message, blocks, result)
            role, blocks = "user", [result]
        elif role == "assistant":
            calls = message.get("tool_calls")
            if isinstance(calls, list):
                blocks = [*blocks, *(_call(call) for call in calls if isinstance(call, dict))]
        else:
            role = "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return system, messages


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        return []
    if not all(isinstance(part, (str, dict)) for part in content):
        raise BadRow("bad field", "messages[].content[]")
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in content if part]


def _move_marker(message: Json, blocks: list[Json], result: Json) -> None:
    """A marker on the message, or on a part of a result, marks the result."""
    marker = message.get("cache_control")
    for block in blocks:
        marker = block.pop("cache_control", None) or marker
    if marker is not None:
        result["cache_control"] = marker


def _call(call: Json) -> Json:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            arguments = {"arguments": arguments}
    return {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": arguments or {}}


def _tool(tool: Json) -> Json:
    function = tool.get("function")
    if not isinstance(function, dict):
        return tool
    made: Json = {
        "name": function.get("name"),
        "description": function.get("description") or "",
        "input_schema": function.get("parameters") or {"type": "object"},
    }
    marker = tool.get("cache_control") or function.get("cache_control")
    return {**made, "cache_control": marker} if marker else made
