"""Messages of LangChain, as its tracers store them, in the shape of Chat Completions."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool", "function": "tool"}
_CLASSES = {
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}


def chat_messages(inputs: Json | None) -> list[Json]:
    """The messages of a run's inputs; none where one of them is of no known shape, so that nothing is half a prompt."""
    found = (inputs or {}).get("messages")
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
        found = found[0]  # a batch of one
    if not isinstance(found, list):
        return []
    messages = [_message(each) for each in found]
    return [one for one in messages if one is not None] if None not in messages else []


def _message(stored: object) -> Json | None:
    if not isinstance(stored, dict):
        return None
    kwargs = stored.get("kwargs")
    fields: Json = kwargs if isinstance(kwargs, dict) else stored
    role = _role(stored, fields)
    if role is None or "content" not in fields:
        return None
    message: Json = {"role": role, "content": fields["content"]}
    if isinstance(fields.get("tool_call_id"), str):
        message["tool_call_id"] = fields["tool_call_id"]
    calls = _calls(fields)
    if calls:
        message["tool_calls"] = calls
    return message


def _role(stored: Json, fields: Json) -> str | None:
    id = stored.get("id")
    if isinstance(id, list) and id and isinstance(id[-1], str) and id[-1] in _CLASSES:
        return _CLASSES[id[-1]]
    role = fields.get("role")
    if isinstance(role, str):
        return role
    return _ROLES.get(fields["type"]) if isinstance(fields.get("type"), str) else None


def _calls(fields: Json) -> list[Json]:
    """The calls of an answer, as the provider wrote them or as the library keeps them."""
    kept = fields.get("additional_kwargs")
    written = (kept if isinstance(kept, dict) else {}).get("tool_calls") or fields.get("tool_calls")
    if not isinstance(written, list):
        return []
    calls = []
    for call in written:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            calls.append(call)
        elif isinstance(call, dict) and isinstance(call.get("name"), str):
            function = {"name": call["name"], "arguments": _arguments(call.get("args"))}
            calls.append({"id": call.get("id"), "type": "function", "function": function})
    return calls


def _arguments(args: object) -> str:
    import json

    return args if isinstance(args, str) else json.dumps(args)
