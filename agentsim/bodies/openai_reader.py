"""OpenAI bodies (chat completions and responses) to prompts, at the cost of what is new in each."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from agentsim.bodies.body_error import BodyError
from agentsim.bodies.openai_items import INHERITED, Item, ToolName, item_of, piece, tool_of
from agentsim.bodies.prompt_growth import BlockPiece, PromptGrowth
from agentsim.core.lifetimes import seconds_of
from agentsim.core.prompt import Breakpoint, Prompt

ABSENT = Raw(b"")
DEFAULT_LIFETIME = 30 * 60
"""Seconds that a breakpoint asks for where neither it nor its request names a lifetime."""

KEPT_ITEMS = 65_536
"""Items that a reader remembers."""

Settings = tuple[tuple[str, str], ...]

_any = msgspec.json.Decoder(Any)
_encode = msgspec.json.encode


class CacheOptions(msgspec.Struct, gc=False):
    """``prompt_cache_options``."""

    mode: str | None = None
    ttl: str | None = None
    comparison_response_id: str | None = None
    prewarm: bool | None = None


class Options(msgspec.Struct, gc=False):
    """``stream_options``."""

    include_usage: bool | None = None


class TextFormat(msgspec.Struct, gc=False):
    """``text``."""

    format: Raw = ABSENT
    verbosity: str | None = None


class Reasoning(msgspec.Struct, gc=False):
    """``reasoning``."""

    effort: str | None = None


class Chat(msgspec.Struct, gc=False):
    """A body of ``chat/completions``."""

    model: str
    messages: list[Raw]
    tools: list[Raw] | None = None
    stream: bool | None = None
    stream_options: Options | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    response_format: Raw = ABSENT
    prompt_cache_key: str | None = None
    user: Raw = ABSENT
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None
    tool_choice: Raw = ABSENT
    stop: str | list[str] | None = None


class Responses(msgspec.Struct, gc=False):
    """A body of ``responses``."""

    model: str
    input: str | list[Raw] = ""
    instructions: str | None = None
    tools: list[Raw] | None = None
    stream: bool | None = None
    max_output_tokens: int | None = None
    reasoning: Reasoning | None = None
    text: TextFormat | None = None
    prompt_cache_key: str | None = None
    user: Raw = ABSENT
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    previous_response_id: str | None = None
    conversation: Raw = ABSENT
    store: bool | None = None
    background: bool | None = None
    service_tier: str | None = None
    tool_choice: Raw = ABSENT


class ReadOpenAIBody(msgspec.Struct, frozen=True):
    """What a body says: its prompt, the settings that may be in the cache key, its items, and the tools it offers."""

    model: str
    prompt: Prompt
    settings: Settings
    items: tuple[Item, ...]
    tools: tuple[ToolName, ...]


class OpenAIReader:
    """Reads bodies of one kind of provider. Remembers items it has seen, so that a body costs what is new in it."""

    def __init__(self) -> None:
        self._items: dict[tuple[bytes, str], Item] = {}
        self._tools: dict[tuple[bytes, str], tuple[BlockPiece, ToolName | None]] = {}

    def chat(self, sent: Chat, before: Prompt | None = None) -> ReadOpenAIBody:
        """A chat request; ``before`` is the prompt that it probably grew from. Raises BodyError."""
        items = [self._item(bytes(raw), f"messages[{index}]", sent.model) for index, raw in enumerate(sent.messages)]
        head = 0
        while head < len(items) and items[head].role in ("system", "developer"):
            head += 1
        settings = settings_of(sent, sent.reasoning_effort, sent.verbosity)
        return self._read(sent, items[:head], items[head:], items, sent.response_format, settings, before)

    def responses(
        self, sent: Responses, history: Sequence[Raw | bytes] = (), before: Prompt | None = None
    ) -> ReadOpenAIBody:
        """A responses request behind the items that the server holds of its conversation. Raises BodyError."""
        raws = [*(bytes(raw) for raw in history), *raw_input(sent.input)]
        paths = [f"history[{index}]" for index in range(len(history))]
        paths += [f"input[{index}]" for index in range(len(raws) - len(history))]
        items = [self._item(raw, path, sent.model) for raw, path in zip(raws, paths, strict=True)]
        head = []
        if sent.instructions:
            head.append(
                Item("system", False, (piece("system", "system", "text", sent.instructions, None, sent.model),))
            )
        text = sent.text or TextFormat()
        effort = None if sent.reasoning is None else sent.reasoning.effort
        settings = settings_of(sent, effort, text.verbosity)
        return self._read(sent, head, items, items, text.format, settings, before)

    def first_of(self, sent: Chat | Responses, history: Sequence[Raw | bytes] = ()) -> bytes:
        """By what a conversation can be told before its prompt is read: a digest of its model and its first item."""
        if isinstance(sent, Chat):
            raw = bytes(sent.messages[0]) if sent.messages else b""
        else:
            raw = bytes(history[0]) if history else next(iter(raw_input(sent.input)), b"")
            raw += (sent.instructions or "").encode("utf-8", "surrogatepass")
        return blake2b(raw, digest_size=16, key=sent.model.encode("utf-8", "surrogatepass")[:64]).digest()

    def _read(
        self,
        sent: Chat | Responses,
        head: list[Item],
        rest: list[Item],
        items: list[Item],
        format: Raw,
        settings: Settings,
        before: Prompt | None,
    ) -> ReadOpenAIBody:
        growth = PromptGrowth(before)
        offered: list[ToolName] = []
        model = sent.model
        for index, raw in enumerate(sent.tools or ()):
            found, tool = self._tool(bytes(raw), f"tools[{index}]", model)
            growth.add(found, "tools", None, index, None)
            if tool is not None:
                offered.append(tool)
        if bytes(format) not in (b"", b"null"):
            shape = _encode(_decoded(bytes(format), "text.format"), order="sorted").decode()
            growth.add(piece("tools", None, "options", shape, None, model), "tools", None, len(offered), None)
        for index, item in enumerate(head):
            for part, one in enumerate(item.pieces):
                growth.add(one, "system", item.role, index, part, "list")
        for index, item in enumerate(rest):
            for part, one in enumerate(item.pieces):
                growth.add(one, "messages", item.role, index, part, "list")
        offered += [tool for item in items for tool in item.tools]
        options = sent.prompt_cache_options
        asked = seconds_of(options.ttl) if options is not None and options.ttl is not None else None
        lifetime = asked or DEFAULT_LIFETIME
        markers = tuple(
            Breakpoint(marker.position, lifetime if marker.ttl == INHERITED else marker.ttl)
            for marker in growth.markers
        )
        return ReadOpenAIBody(model, growth.finish(markers), settings, tuple(items), tuple(offered))

    def _item(self, raw: bytes, path: str, model: str) -> Item:
        key = (blake2b(raw, digest_size=16).digest(), model)
        found = self._items.get(key)
        if found is None:
            if len(self._items) >= KEPT_ITEMS:
                self._items.clear()
            found = self._items[key] = item_of(_decoded(raw, path), path, model)
        return found

    def _tool(self, raw: bytes, path: str, model: str) -> tuple[BlockPiece, ToolName | None]:
        key = (blake2b(raw, digest_size=16).digest(), model)
        found = self._tools.get(key)
        if found is None:
            if len(self._tools) >= KEPT_ITEMS:
                self._tools.clear()
            found = self._tools[key] = tool_of(_decoded(raw, path), path, model)
        return found


def raw_input(given: str | list[Raw]) -> list[bytes]:
    """The items of an ``input``, as raw JSON: a text is a message of the user."""
    if isinstance(given, str):
        return [_encode({"type": "message", "role": "user", "content": given})] if given else []
    return [bytes(raw) for raw in given]


def settings_of(sent: Chat | Responses, effort: str | None, verbosity: str | None) -> Settings:
    """The parameters that may take part in a cache key, or say how the cache is used, as sorted pairs."""
    options = sent.prompt_cache_options or CacheOptions()
    pairs = {
        "effort": effort,
        "verbosity": verbosity,
        "prompt_cache_key": sent.prompt_cache_key,
        "user": _told_apart(sent.user),
        "prompt_cache_mode": options.mode,
        "prompt_cache_ttl": options.ttl,
        "prompt_cache_retention": sent.prompt_cache_retention,
        "service_tier": sent.service_tier,
    }
    return tuple(sorted((name, _encode(value).decode()) for name, value in pairs.items() if value is not None))


def _told_apart(raw: Raw) -> str | None:
    """A digest of a value: enough to see that it changed, and it may say who somebody is."""
    sent = bytes(raw)
    return None if sent in (b"", b"null") else blake2b(sent, digest_size=6).hexdigest()


def _decoded(raw: bytes, path: str) -> Any:
    try:
        return _any.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BodyError(path, "is no JSON that can be read") from None
