"""Request bodies as a provider sees them: a row of positions, tools first, then system text, then messages.

The size of a position is counted by a tokenizer of the world's own, so that a judge has to work with estimates, as it
has to with real providers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Json = dict[str, Any]
Api = Literal["messages", "chat", "responses"]
Section = Literal["tools", "system", "messages"]

LIFETIMES = {"5m": 300, "1h": 3600, "30m": 1800, "12h": 43200}
OVERHEAD = 4
"""Tokens around each position: who speaks, where it ends."""
IMAGE_TOKENS = 1_120

_PIECE = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]|\n+")


@dataclass(frozen=True, slots=True)
class Position:
    """One block of a prompt. ``data`` is all that takes part in the key, ``main`` the text that a person wrote,
    ``rest`` the JSON of its other fields. ``lifetime`` is that of the marker on it, in seconds."""

    section: Section
    kind: str
    data: str
    tokens: int
    role: str | None
    name: str | None
    message: int
    part: int
    shape: str | None
    main: str
    rest: str
    lifetime: int | None
    image: bool = False


@lru_cache(maxsize=200_000)
def count_tokens(text: str) -> int:
    """Tokens of a text."""
    return len(_PIECE.findall(text))


def compact(value: Any) -> str:
    """JSON as it is rendered: keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def positions_of(body: Json, api: Api) -> list[Position]:
    """The positions of a body, in the order in which the provider renders them."""
    if api == "messages":
        return _messages(body)
    return _chat(body) if api == "chat" else _responses(body)


def tokens_of(positions: list[Position]) -> int:
    """Tokens of a whole prompt."""
    return sum(position.tokens for position in positions)


def _lifetime(block: Json) -> int | None:
    marker = block.get("cache_control") or block.get("prompt_cache_breakpoint")
    if marker is None:
        return None
    return LIFETIMES[marker.get("ttl", "5m" if "cache_control" in block else "30m")]


def _messages(body: Json) -> list[Position]:
    found: list[Position] = []
    for index, tool in enumerate(body.get("tools", ())):
        bare = {key: value for key, value in tool.items() if key not in ("cache_control", "description")}
        found.append(_tool(index, tool["name"], tool["description"], bare, _lifetime(tool)))
    system = body.get("system", [])
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    for index, block in enumerate(blocks):
        shape = "string" if isinstance(system, str) else None
        found.append(_text("system", None, index, 0, block["text"], shape, _lifetime(block)))
    for index, message in enumerate(body["messages"]):
        content = message["content"]
        if isinstance(content, str):
            found.append(_text("messages", message["role"], index, 0, content, "string", None))
            continue
        shape = "list" if len(content) == 1 and content[0]["type"] == "text" else None
        for part, block in enumerate(content):
            found.append(_block(message["role"], index, part, block, shape))
    return found


def _tool(index: int, name: str, description: str, rest: Json, lifetime: int | None) -> Position:
    after = compact(rest)
    data = f"tool\n{description}\n{after}"
    tokens = count_tokens(description) + count_tokens(after) + OVERHEAD
    return Position("tools", "tool", data, tokens, None, name, index, 0, None, description, after, lifetime)


def _text(
    section: Section, role: str | None, message: int, part: int, text: str, shape: str | None, lifetime: int | None
) -> Position:
    data = f"{role}\ntext\n{text}"
    tokens = count_tokens(text) + OVERHEAD
    return Position(section, "text", data, tokens, role, None, message, part, shape, text, "", lifetime)


def _block(role: str, message: int, part: int, block: Json, shape: str | None) -> Position:
    kind = block["type"]
    lifetime = _lifetime(block)
    if kind == "text":
        found = _text("messages", role, message, part, block["text"], shape, lifetime)
        if "citations" in block:
            raise ValueError("citations stand on documents only")
        return found
    tokens, image, name = OVERHEAD, False, None
    if kind == "image":
        main, rest, image = "", compact(block["source"]), True
        tokens += IMAGE_TOKENS
    elif kind == "document":
        main, rest = block["source"]["data"], compact({"citations": block.get("citations")})
        tokens += count_tokens(main)
    elif kind == "thinking":
        main, rest = block["thinking"], compact({"signature": block["signature"]})
        tokens += count_tokens(main)
    elif kind == "tool_use":
        name = block["name"]
        main, rest = compact(block["input"]), compact({"id": block["id"], "name": name})
        tokens += count_tokens(main) + count_tokens(name) + 12
    else:
        content = block["content"]
        main = content if isinstance(content, str) else "".join(piece["text"] for piece in content)
        rest = compact({"tool_use_id": block["tool_use_id"]})
        tokens += count_tokens(main) + 12
    data = f"{role}\n{kind}\n{main}\n{rest}"
    return Position("messages", kind, data, tokens, role, name, message, part, None, main, rest, lifetime, image)


def _chat(body: Json) -> list[Position]:
    found: list[Position] = []
    for index, tool in enumerate(body.get("tools", ())):
        function = tool["function"]
        bare = {key: value for key, value in function.items() if key != "description"}
        found.append(_tool(index, function["name"], function["description"], bare, None))
    for index, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        section: Section = "system" if role in ("system", "developer") else "messages"
        if role == "tool":
            rest = compact({"tool_call_id": message["tool_call_id"]})
            tokens = count_tokens(content) + OVERHEAD + 12
            data = f"tool\n{rest}\n{content}"
            found.append(
                Position(section, "tool_result", data, tokens, "tool", None, index, 0, None, content, rest, None)
            )
            continue
        if isinstance(content, str):
            found.append(_text(section, role, index, 0, content, "string", None))
        for part, block in enumerate(content if isinstance(content, list) else ()):
            if block["type"] == "text":
                found.append(_text(section, role, index, part, block["text"], None, None))
            else:
                rest = compact(block["image_url"])
                data = f"{role}\nimage\n{rest}"
                size = IMAGE_TOKENS + OVERHEAD
                found.append(
                    Position("messages", "image", data, size, role, None, index, part, None, "", rest, None, True)
                )
        for part, call in enumerate(message.get("tool_calls", ())):
            main = call["function"]["arguments"]
            rest = compact({"id": call["id"], "name": call["function"]["name"]})
            tokens = count_tokens(main) + count_tokens(call["function"]["name"]) + OVERHEAD + 12
            name = call["function"]["name"]
            data = f"{role}\ncall\n{name}\n{main}"
            found.append(Position(section, "tool_use", data, tokens, role, name, index, part, None, main, rest, None))
    return found


def _responses(body: Json) -> list[Position]:
    found: list[Position] = []
    for index, tool in enumerate(body.get("tools", ())):
        bare = {key: value for key, value in tool.items() if key != "description"}
        found.append(_tool(index, tool["name"], tool["description"], bare, None))
    if body.get("instructions"):
        found.append(_text("system", None, 0, 0, body["instructions"], "string", None))
    for index, item in enumerate(body["input"]):
        kind = item.get("type", "message")
        if kind == "message":
            role, content = item["role"], item["content"]
            blocks = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
            for part, block in enumerate(blocks):
                if block["type"] == "input_image":
                    rest = compact(block["image_url"])
                    data = f"{role}\nimage\n{rest}"
                    size = IMAGE_TOKENS + OVERHEAD
                    found.append(
                        Position("messages", "image", data, size, role, None, index, part, None, "", rest, None, True)
                    )
                else:
                    found.append(_text("messages", role, index, part, block["text"], None, _lifetime(block)))
        elif kind == "function_call":
            main, name = item["arguments"], item["name"]
            rest = compact({"id": item["call_id"], "name": name})
            tokens = count_tokens(main) + count_tokens(name) + OVERHEAD + 12
            data = f"assistant\ncall\n{name}\n{main}"
            found.append(
                Position("messages", "tool_use", data, tokens, "assistant", name, index, 0, None, main, rest, None)
            )
        else:
            main = item["output"]
            rest = compact({"tool_call_id": item["call_id"]})
            tokens = count_tokens(main) + OVERHEAD + 12
            data = f"tool\n{rest}\n{main}"
            found.append(
                Position("messages", "tool_result", data, tokens, "tool", None, index, 0, None, main, rest, None)
            )
    return found


def shared(one: str, other: str) -> int:
    """How many leading characters two texts have in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
