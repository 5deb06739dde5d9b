"""Request bodies made of recorded prompts, for the Messages API or for chat completions.

Between two APIs a prompt cannot stay what it was: thinking is left out, server tools are, and texts of a message are
joined. What was equal stays equal, so that prefixes are shared as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from agentsim.bodies.block_parts import BlockPart, NoText, parts_of
from agentsim.core.prompt import Prompt

Settings = tuple[tuple[str, str], ...]

DERIVED = frozenset(("citations", "images_present"))
"""Settings that no body names."""

_NOT_OURS = frozenset(("betas", "effort"))


class RenderedBody(msgspec.Struct, frozen=True, kw_only=True):
    """A body without its model and limits. ``left_out`` names what could not be brought back or does not fit, and
    ``settings`` are those that it carries."""

    fields: dict[str, Any]
    betas: tuple[str, ...] = ()
    settings: Settings = ()
    left_out: tuple[str, ...] = ()


def messages_body(prompt: Prompt, settings: Settings) -> RenderedBody:
    """A body of the Messages API. Raises :class:`agentsim.bodies.block_parts.NoText`."""
    parts = parts_of(prompt)
    fields: dict[str, Any] = {}
    left_out: set[str] = {part.kind for part in parts if not part.whole}
    tools = [_messages_tool(part) for part in parts if part.kind == "tool"]
    system = [part for part in parts if part.section == "system" and part.kind != "tool"]
    if tools:
        fields["tools"] = tools
    if system:
        fields["system"] = _messages_content(system)
    fields["messages"] = list(_messages(part for part in parts if part.section == "messages"))
    kept = []
    betas: tuple[str, ...] = ()
    output: dict[str, Any] = {}
    for name, text in settings:
        value = _value(name, text)
        if name in DERIVED:
            kept.append((name, text))
            continue
        if name == "thinking" and isinstance(value, dict) and value.get("type") == "enabled":
            left_out.add("thinking with a budget")  # it asks for more output than is allowed here
            continue
        kept.append((name, text))
        if name == "betas":
            betas = tuple(beta for beta in value if isinstance(beta, str)) if isinstance(value, list) else ()
        elif name == "effort":
            output["effort"] = value
        elif name == "output_config":
            output |= value if isinstance(value, dict) else {}
        elif name not in _NOT_OURS:
            fields[name] = value
    if output:
        fields["output_config"] = output
    return RenderedBody(fields=fields, betas=betas, settings=tuple(kept), left_out=tuple(sorted(left_out)))


def chat_body(prompt: Prompt, settings: Settings) -> RenderedBody:
    """A body of chat completions. Raises :class:`agentsim.bodies.block_parts.NoText`."""
    parts = parts_of(prompt)
    left_out: set[str] = {
        part.kind for part in parts if not part.whole or part.kind in ("thinking", "options", "other")
    }
    tools = [_chat_tool(part) for part in parts if part.kind == "tool" and part.value is not None]
    if any(part.kind == "tool" and part.value is None for part in parts):
        left_out.add("server tools")
    messages: list[dict[str, Any]] = []
    system = "\n\n".join(part.text for part in parts if part.section == "system" and part.kind == "text")
    if system:
        messages.append({"role": "system", "content": system})
    open_calls: list[str] = []
    for _, group in _grouped(part for part in parts if part.section == "messages"):
        messages += _chat_messages(group, open_calls)
    fields: dict[str, Any] = {"messages": messages}
    if tools:
        fields["tools"] = tools
    names = {"effort": "reasoning_effort", "verbosity": "verbosity", "prompt_cache_key": "prompt_cache_key"}
    kept = tuple((name, text) for name, text in settings if name in names)
    fields |= {names[name]: _value(name, text) for name, text in kept}
    return RenderedBody(fields=fields, settings=kept, left_out=tuple(sorted(left_out)))


def _value(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise NoText(f"the setting {name} cannot be read") from None


def _grouped(parts: Iterable[BlockPart]) -> list[tuple[str, list[BlockPart]]]:
    """Parts by message: where no message is told, by who speaks."""
    return [
        (key[1], list(group)) for key, group in groupby(parts, key=lambda part: (part.message, _speaker(part.role)))
    ]


def _speaker(role: str) -> str:
    if role in ("tool", "function", "user"):
        return "user"
    return "system" if role == "developer" else role


def _messages(parts: Iterable[BlockPart]) -> Iterable[dict[str, Any]]:
    made: dict[str, Any] | None = None
    for role, group in _grouped(parts):
        own = all(part.fields is not None or part.kind == "options" for part in group)
        options = [part.value for part in group if part.kind == "options"]
        content = _messages_content([part for part in group if part.kind not in ("options", *_UNSENT[own])])
        if not content and not options:
            continue
        if made is not None and not own and made["role"] == role and isinstance(made["content"], list):
            made["content"] += content if isinstance(content, list) else [{"type": "text", "text": content}]
            continue
        if made is not None:
            yield made
        made = {"role": role, "content": content}
        for option in options:
            made |= option if isinstance(option, dict) else {}
    if made is not None:
        yield made


_UNSENT = {True: (), False: ("thinking", "other")}
"""Kinds that only the API that made them takes back."""


def _messages_content(parts: Sequence[BlockPart]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and parts[0].shape == "string" and parts[0].kind == "text" and parts[0].ttl is None:
        return parts[0].text
    return [_marked(_messages_block(part), part.ttl) for part in parts]


def _messages_block(part: BlockPart) -> dict[str, Any]:
    if part.fields is not None:
        return part.fields
    if part.kind == "call":
        given = part.value if isinstance(part.value, dict) else {"input": part.value}
        return {"type": "tool_use", "id": part.id or "call", "name": part.name or "tool", "input": given}
    if part.kind == "result":
        return {"type": "tool_result", "tool_use_id": part.id or "call", "content": part.text}
    return {"type": "text", "text": part.text}


def _messages_tool(part: BlockPart) -> dict[str, Any]:
    if part.fields is not None:
        return _marked(part.fields, part.ttl)
    schema = part.value if isinstance(part.value, dict) else {"type": "object"}
    return {"name": part.name or "tool", "description": part.text, "input_schema": schema}


def _marked(block: dict[str, Any], ttl: int | None) -> dict[str, Any]:
    if ttl is None:
        return block
    marker: dict[str, Any] = {"type": "ephemeral"}
    if ttl != 300:
        marker["ttl"] = f"{ttl // 3600}h" if ttl % 3600 == 0 else f"{ttl // 60}m"
    return {**block, "cache_control": marker}


def _chat_messages(parts: Sequence[BlockPart], open_calls: list[str]) -> list[dict[str, Any]]:
    """The messages that one message of another API becomes: results first, then what was said."""
    made: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    texts: list[str] = []
    role = _speaker(parts[0].role)
    for part in parts:
        if part.kind == "result":
            id = part.id or (open_calls.pop(0) if open_calls else "call")
            made.append({"role": "tool", "tool_call_id": id, "content": part.text})
        elif part.kind == "call":
            given = part.value if isinstance(part.value, str) else msgspec.json.encode(part.value).decode()
            id = part.id or f"call_{len(calls)}"
            calls.append({"id": id, "type": "function", "function": {"name": part.name or "tool", "arguments": given}})
            open_calls.append(id)
        elif part.kind == "text" or (part.kind == "other" and part.text):
            texts.append(part.text)
    if texts or calls:
        said: dict[str, Any] = {"role": role, "content": "\n".join(texts) if texts else None}
        made.append(said | ({"tool_calls": calls} if calls else {}))
    return made


def _chat_tool(part: BlockPart) -> dict[str, Any]:
    inner: dict[str, Any] = {"name": part.name or "tool"}
    if part.text:
        inner["description"] = part.text
    if isinstance(part.value, dict):
        inner["parameters"] = part.value
    return {"type": "function", "function": inner}
