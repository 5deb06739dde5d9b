"""Items of OpenAI bodies, block by block: messages of chat completions, items of responses, tools, output formats."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from agentsim.bodies.body_error import BodyError
from agentsim.bodies.canonical_block import marker_ttl
from agentsim.bodies.prompt_growth import BlockPiece
from agentsim.bodies.sealed_summary import opened
from agentsim.core.lifetimes import seconds_of
from agentsim.core.prompt import DIGEST_SIZE, Section
from agentsim.core.tokens import estimate_quickly, scale

IMAGE_TOKENS = 1000
_LONG_DATA = 1024

MARKER = "prompt_cache_breakpoint"
CACHE_CONTROL = "cache_control"
"""Anthropic's marker, which gateways and some makers take in bodies of chat completions."""
INHERITED = 0
"""The lifetime of a breakpoint that names none: that of its request."""

_KINDS = {
    "input_text": "text",
    "output_text": "text",
    "function_call": "tool_use",
    "custom_tool_call": "tool_use",
    "local_shell_call": "tool_use",
    "function_call_output": "tool_result",
    "custom_tool_call_output": "tool_result",
    "local_shell_call_output": "tool_result",
    "reasoning": "thinking",
    "input_image": "image",
    "image_url": "image",
    "input_file": "file",
    "compaction_summary": "compaction",
}
"""Kinds of items, in the words of all providers."""

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
"""Who may speak."""

_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where messages of chat completions carry earlier thinking back, to servers that show it to the model."""

SPOKEN = frozenset(("function_call", "custom_tool_call", "local_shell_call", "reasoning", "web_search_call"))
"""Items that the assistant says, beside messages of its role."""

_BOOKKEEPING = ("id", "status", "created_by", MARKER, CACHE_CONTROL)
"""Fields of an item that the model is not shown."""

_BESIDE_TEXT = frozenset(("type", "text", "annotations", "logprobs", MARKER, CACHE_CONTROL))

_encode = msgspec.json.encode


class ToolName(msgspec.Struct, frozen=True, gc=False):
    """A tool that a body offers. ``free`` takes plain text instead of an object."""

    name: str
    free: bool = False


class Item(msgspec.Struct, frozen=True, gc=False):
    """An item of the history, as its pieces. ``spoken``: by the assistant. ``tools`` are those that it adds. ``turns``
    is how many times the assistant had spoken in what a summary stands for."""

    role: str
    spoken: bool
    pieces: tuple[BlockPiece, ...]
    tools: tuple[ToolName, ...] = ()
    turns: int = 0


def item_of(value: object, path: str, model: str) -> Item:
    """An item or a message, decoded. Raises BodyError."""
    if not isinstance(value, dict):
        raise BodyError(path, "must be an object")
    kind = value.get("type") or "message"
    if not isinstance(kind, str):
        raise BodyError(f"{path}.type", "must be a string")
    if kind == "message":
        return _message_of(value, path, model)
    spoken = kind in SPOKEN
    told = value.get("role")
    role = "assistant" if spoken else told if isinstance(told, str) and told in ROLES else "user"
    name = value.get("name")
    shown = name if isinstance(name, str) else None
    known = _KINDS.get(kind, kind)
    summary = opened(value.get("encrypted_content")) if known == "compaction" else None
    if summary is not None:
        return Item(role, spoken, (piece("messages", role, known, summary.text, None, model),), (), summary.turns)
    output = value.get("output")
    if not spoken and isinstance(output, str):
        output = [{"type": "input_text", "text": output}]
    if not spoken and isinstance(output, list) and output and all(isinstance(part, dict) for part in output):
        return _result_of(value, output, known, path, model)
    markers = _markers(value, path, spoken=spoken)
    return Item(role, spoken, (piece("messages", role, known, _shown(value), shown, model, markers),), _offered(value))


def _result_of(value: dict[str, Any], output: list[dict[str, Any]], kind: str, path: str, model: str) -> Item:
    """A tool's result in parts: each is a block, because each may end with a breakpoint. A string is short for a list
    of one text, and shown to the model as it is."""
    head = _shown({name: inner for name, inner in value.items() if name != "output"})
    pieces = []
    for index, part in enumerate(output):
        text = (head if index == 0 else "") + _text_of(part)
        markers = _markers(part, f"{path}.output[{index}]")
        pieces.append(piece("messages", "user", kind, text, None, model, markers))
    return Item("user", False, tuple(pieces))


def _message_of(value: dict[str, Any], path: str, model: str) -> Item:
    role = value.get("role")
    if role not in ROLES:
        raise BodyError(f"{path}.role", f"must be one of {', '.join(ROLES)}")
    section: Section = "system" if role in ("system", "developer") else "messages"
    content = value.get("content")
    pieces: list[BlockPiece] = []
    is_result = role in ("tool", "function")
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    thought = next((value[name] for name in _THOUGHTS if value.get(name)), None) if role == "assistant" else None
    if thought is not None:
        text = thought if isinstance(thought, str) else _encode(thought).decode()
        pieces.append(piece(section, role, "thinking", text, None, model))
    if content is not None and not isinstance(content, (str, list)):
        raise BodyError(f"{path}.content", "must be a string or an array")
    for index, part in enumerate(parts):
        markers: tuple[int, ...] = ()
        if isinstance(part, str):
            kind: str = "text"
            text = part
        elif isinstance(part, dict) and isinstance(part.get("type"), str):
            kind = str(_KINDS.get(part["type"], part["type"]))
            text = _text_of(part)
            markers = _markers(part, f"{path}.content[{index}]", spoken=role == "assistant")
        else:
            raise BodyError(f"{path}.content[{index}]", "must be an object with a type")
        pieces.append(piece(section, role, "tool_result" if is_result else kind, text, None, model, markers))
    calls = value.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise BodyError(f"{path}.tool_calls", "must be an array")
    for index, call in enumerate(calls or ()):
        if not isinstance(call, dict):
            raise BodyError(f"{path}.tool_calls[{index}]", "must be an object")
        inner = call.get("function") or call.get("custom")
        name = inner.get("name") if isinstance(inner, dict) else None
        shown = name if isinstance(name, str) else None
        pieces.append(piece(section, role, "tool_use", _encode(call, order="sorted").decode(), shown, model))
    if not pieces:
        pieces.append(piece(section, role, "text", "", None, model))
    if CACHE_CONTROL in value:
        markers = cache_control(value, path)
        pieces[-1] = msgspec.structs.replace(pieces[-1], markers=markers or pieces[-1].markers)
    return Item(role, role == "assistant", tuple(pieces))


def _offered(value: dict[str, Any]) -> tuple[ToolName, ...]:
    """The tools that an item makes available from here on; those of a namespace one by one."""
    given = value.get("tools")
    if value.get("type") != "additional_tools" or not isinstance(given, list):
        return ()
    found = []
    for tool in given:
        inner = tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
        for one in inner if isinstance(inner, list) else (tool,):
            if isinstance(one, dict) and one.get("type") in ("function", "custom") and isinstance(one.get("name"), str):
                found.append(ToolName(one["name"], free=one["type"] == "custom"))
    return tuple(found)


def tool_of(value: object, path: str, model: str) -> tuple[BlockPiece, ToolName | None]:
    """A tool definition, decoded. Raises BodyError."""
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not isinstance(value, dict):
        raise BodyError(path, "must be an object with a type")
    inner = value.get(kind)
    told = inner if isinstance(inner, dict) else value
    name = told.get("name")
    callable_ = isinstance(name, str) and kind in ("function", "custom")
    tool = ToolName(name, free=kind == "custom") if callable_ and isinstance(name, str) else None
    shown = name if isinstance(name, str) else kind
    markers = cache_control(value, path) or cache_control(told, path)
    if markers:
        value = {n: _unmarked(v) if n == kind else v for n, v in _unmarked(value).items()}
    return piece("tools", None, "tool", _encode(value).decode(), shown, model, markers), tool


def _unmarked(value: Any) -> Any:
    return {n: v for n, v in value.items() if n != CACHE_CONTROL} if isinstance(value, dict) else value


def cache_control(value: dict[str, Any], path: str) -> tuple[int, ...]:
    """The lifetime that a ``cache_control`` asks for; empty where there is none. Raises BodyError."""
    marker = value.get(CACHE_CONTROL)
    ttl = None if marker is None else marker_ttl(marker, f"{path}.{CACHE_CONTROL}")
    return () if ttl is None else (ttl,)


def piece(
    section: str, role: str | None, kind: str, text: str, name: str | None, model: str, markers: tuple[int, ...] = ()
) -> BlockPiece:
    """A piece of content with its identity, an estimate of its size, and the breakpoints at its end."""
    person = blake2b(f"{section}\0{role}\0{kind}".encode(), digest_size=16).digest()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE, person=person).digest()
    tokens = IMAGE_TOKENS if kind == "image" else scale(estimate_quickly(text), model)
    return BlockPiece(digest, kind, name, tokens, text, None, markers, (), 0)


def _markers(value: dict[str, Any], path: str, *, spoken: bool = False) -> tuple[int, ...]:
    """The breakpoint at the end of a part, as its lifetime in seconds. OpenAI's cannot end what the assistant said
    (``spoken``) and is ignored there. Raises BodyError."""
    if CACHE_CONTROL in value:
        return cache_control(value, path)
    marker = value.get(MARKER)
    if marker is None or spoken:
        return ()
    if not isinstance(marker, dict) or marker.get("mode") != "explicit":
        raise BodyError(f"{path}.{MARKER}.mode", "must be 'explicit'")
    ttl = marker.get("ttl")
    if ttl is None:
        return (INHERITED,)
    seconds = seconds_of(ttl) if isinstance(ttl, str) else None
    if not seconds:
        raise BodyError(f"{path}.{MARKER}.ttl", "must be a lifetime such as '30m'")
    return (seconds,)


def _shown(value: dict[str, Any]) -> str:
    """An item as the model is shown it: without the provider's bookkeeping, and without what is absent. Its fields are
    the API's own, so that their order says nothing."""
    return _encode({n: v for n, v in value.items() if n not in _BOOKKEEPING and v is not None}, order="sorted").decode()


def _text_of(value: dict[str, Any]) -> str:
    """The text of a part, or its JSON where it is more than text. Long data is replaced by its digest."""
    text = value.get("text")
    if isinstance(text, str) and set(value) <= _BESIDE_TEXT:
        return text
    image = value.get("image_url")
    if isinstance(image, dict):
        image = image.get("url")
    if isinstance(image, str) and len(image) > _LONG_DATA:
        return f"image {blake2b(image.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"
    return _encode({name: inner for name, inner in value.items() if name not in (MARKER, CACHE_CONTROL)}).decode()
