"""What the blocks of a prompt say, whichever API they were sent through: the way back from canonical text.

A prompt keeps the canonical text of its blocks. That is all that was sent but pictures, of which only a hash was kept.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentsim.bodies.canonical_block import split_text
from agentsim.core.prompt import Block, Prompt, Section, Shape

PartKind = Literal["text", "thinking", "call", "result", "tool", "options", "other"]

LEFT_OUT = "[left out]"
"""Stands in for a picture."""

_JSON_MAIN = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_CONTENT_MAIN = frozenset(("tool_result", "mcp_tool_result", "compaction"))
_TEXT_MAIN = {"text": "text", "thinking": "thinking", "redacted_thinking": "data", "tool": "description"}


class NoText(ValueError):
    """A block whose text was not kept, or cannot be understood."""


class BlockPart(msgspec.Struct, frozen=True, kw_only=True):
    """A block in the words of all APIs. ``fields`` is the block as the Messages API takes it, where it came from there.

    ``value`` is the input of a call (an object, or the text of a free-form tool), the content of a result, the schema
    of a tool, or the options of a message. ``whole`` is False where something could not be brought back.
    """

    kind: PartKind
    section: Section
    role: str
    message: int | None
    shape: Shape | None
    text: str = ""
    id: str | None = None
    name: str | None = None
    value: Any = None
    fields: dict[str, Any] | None = None
    ttl: int | None = None
    whole: bool = True


def parts_of(prompt: Prompt) -> list[BlockPart]:
    """The parts of a prompt, with the lifetimes of its breakpoints. Raises NoText."""
    ttls = {marker.position: marker.ttl for marker in prompt.breakpoints}
    return [_part(block, ttls.get(position)) for position, block in enumerate(prompt)]


def _part(block: Block, ttl: int | None) -> BlockPart:
    if block.text is None:
        raise NoText("its words were not kept")
    main, rest = split_text(block.text)
    try:
        if not rest and block.kind in ("tool", "tool_use", "tool_result", "thinking", "image", "file"):
            found = _of_openai(block, block.text)
        else:
            found = _of_messages(block, main, msgspec.json.decode(rest) if rest else {})
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NoText(f"a {block.kind} block cannot be read: {error}") from None
    return msgspec.structs.replace(found, ttl=ttl)


def _made(block: Block, kind: PartKind, **more: Any) -> BlockPart:
    role = block.role or ("system" if block.section == "system" else "user")
    return BlockPart(kind=kind, section=block.section, role=role, message=block.message, shape=block.shape, **more)


def _of_messages(block: Block, main: str, rest: Any) -> BlockPart:
    kind = block.kind
    if kind == "options":
        return _made(block, "options", value=msgspec.json.decode(main))
    fields: dict[str, Any] = dict(rest) if isinstance(rest, dict) else {}
    if kind in _JSON_MAIN:
        fields["input"] = msgspec.json.decode(main)
    elif kind in _CONTENT_MAIN:
        fields["content"] = _content(main, block.shape)
    elif kind in _TEXT_MAIN:
        if main or kind != "tool":
            fields[_TEXT_MAIN[kind]] = main
    elif kind == "document" and isinstance(fields.get("source"), dict) and fields["source"].get("type") == "text":
        fields["source"] = {**fields["source"], "data": main}
    if kind != "tool":
        fields = {"type": kind, **fields}
    restored = _with_stand_ins(fields)
    whole = restored == fields
    fields = restored
    if block.section == "tools" or kind.startswith(("web_search_2", "web_fetch_2")):
        schema = fields.get("input_schema")
        return _made(
            block, "tool", text=str(fields.get("description", "")), name=block.name, value=schema, fields=fields
        )
    if kind == "text":
        return _made(block, "text", text=main, fields=fields, whole=whole)
    if kind == "thinking":
        return _made(block, "thinking", text=main, fields=fields)
    if kind == "tool_use":
        return _made(block, "call", id=fields.get("id"), name=fields.get("name"), value=fields["input"], fields=fields)
    if kind == "tool_result":
        value = fields["content"]
        return _made(
            block, "result", id=fields.get("tool_use_id"), text=_plain(value), value=value, fields=fields, whole=whole
        )
    said = main if kind == "document" else ""
    return _made(block, "other", text=said if whole else LEFT_OUT, fields=fields, whole=whole)


def _of_openai(block: Block, text: str) -> BlockPart:
    """Blocks of the OpenAI APIs are kept as the JSON that they were, or as bare text."""
    if block.kind in ("image", "file"):
        return _made(block, "other", text=LEFT_OUT, whole=False)
    value = _json(text)
    if not isinstance(value, dict):
        kind: PartKind = "result" if block.kind == "tool_result" else "text"
        return _made(block, kind, text=text, value=text)
    if block.kind == "thinking":
        return _made(block, "thinking", text="")
    if block.kind == "tool":
        own = value.get(str(value.get("type")))
        inner: dict[str, Any] = own if isinstance(own, dict) else value
        return _made(
            block,
            "tool",
            text=str(inner.get("description") or ""),
            name=block.name,
            value=inner.get("parameters"),
            whole=isinstance(inner.get("name"), str),
        )
    if block.kind == "tool_use":
        own = value.get("function") or value.get("custom")
        inner = own if isinstance(own, dict) else value
        given = inner.get("arguments", inner.get("input", ""))
        parsed = _json(given) if isinstance(given, str) else given
        name = inner.get("name")
        return _made(block, "call", id=value.get("call_id") or value.get("id"), name=name or block.name, value=parsed)
    if "call_id" not in value:
        return _made(block, "result", text=text, value=text)
    output = value.get("output")
    shown = output if isinstance(output, str) else _plain(output)
    return _made(block, "result", id=value["call_id"], text=shown, value=shown)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text


def _content(main: str, shape: Shape | None) -> Any:
    """The content of a result: the string that it was, or its list."""
    if shape == "string":
        return main
    value = _json(main)
    if isinstance(value, list):
        return value
    return [{"type": "text", "text": main}] if main else []


def _plain(value: Any) -> str:
    """The text in a content."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(str(item.get("text", "")) for item in value if isinstance(item, dict) and item.get("text"))
    return "" if value is None else msgspec.json.encode(value).decode()


def _with_stand_ins(value: Any) -> Any:
    """The value with words in the place of pictures whose data was not kept."""
    if isinstance(value, list):
        return [_with_stand_ins(item) for item in value]
    if not isinstance(value, dict):
        return value
    source = value.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), dict) and "blake2b" in source["data"]:
        return {"type": "text", "text": LEFT_OUT}
    if "content" in value and isinstance(value["content"], list):
        return {**value, "content": _with_stand_ins(value["content"])}
    return value
