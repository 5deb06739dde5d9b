"""Bodies of the OpenAI APIs: their prompts, block by block, and what else an answer depends on."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from agentsim.bodies.growth import Growth, Piece
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.decoding import decode
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.reply import Asked, Dialect, Tool
from agentsim.prompt import DIGEST_SIZE, Prompt, Section
from agentsim.tokens import estimate_quickly, scale

ABSENT = Raw(b"")
IMAGE_TOKENS = 1000
_LONG_DATA = 1024

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
}
"""Kinds of items, in the words of all providers."""

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
"""Who may speak."""

_SPOKEN = frozenset(("function_call", "custom_tool_call", "local_shell_call", "reasoning", "web_search_call"))


class Options(msgspec.Struct, gc=False):
    """``stream_options``."""

    include_usage: bool | None = None


class Compared(msgspec.Struct, gc=False):
    """``prompt_cache_options``."""

    comparison_response_id: str | None = None


class Format(msgspec.Struct, gc=False):
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
    service_tier: str | None = None


class Responses(msgspec.Struct, gc=False):
    """A body of ``responses``."""

    model: str
    input: str | list[Raw]
    instructions: str | None = None
    tools: list[Raw] | None = None
    stream: bool | None = None
    max_output_tokens: int | None = None
    reasoning: Reasoning | None = None
    text: Format | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: Compared | None = None
    previous_response_id: str | None = None
    service_tier: str | None = None


_chat = msgspec.json.Decoder(Chat)
_responses = msgspec.json.Decoder(Responses)
_any = msgspec.json.Decoder(Any)
_encode = msgspec.json.encode


def chat_of(body: bytes) -> Chat:
    """The parts of a chat request. Raises Refusal (400)."""
    sent: Chat = decode(_chat, body)
    if not sent.messages:
        raise Refusal(400, "at least one message is required", path="messages")
    return sent


def responses_of(body: bytes) -> Responses:
    """The parts of a responses request. Raises Refusal (400)."""
    sent: Responses = decode(_responses, body)
    if sent.previous_response_id is not None:
        raise Refusal(400, "answers are not stored here: send the whole input", path="previous_response_id")
    if not sent.input:
        raise Refusal(400, "must not be empty", path="input")
    return sent


class _Item(msgspec.Struct, frozen=True, gc=False):
    """An item of the history, as its pieces. ``spoken``: by the assistant."""

    role: str
    spoken: bool
    pieces: tuple[Piece, ...]


class OpenAIBodies:
    """Makes prompts of bodies. Remembers items it has seen, so that a body costs what is new in it. Mutable."""

    def __init__(self) -> None:
        self._items: dict[bytes, _Item] = {}
        self._tools: dict[bytes, tuple[Piece, Tool | None]] = {}

    def chat(self, sent: Chat, conversation: Conversation) -> Asked:
        """A chat request in the words of all dialects. Raises Refusal (400)."""
        items = [self._item(bytes(raw), f"messages[{index}]", sent.model) for index, raw in enumerate(sent.messages)]
        head = 0
        while head < len(items) and items[head].role in ("system", "developer"):
            head += 1
        prompt, tools = self._prompt(
            sent.model, sent.tools, items[:head], items[head:], sent.response_format, conversation
        )
        return _asked(
            "chat",
            sent.model,
            conversation.id,
            prompt,
            tools,
            items,
            settings=_settings(sent.reasoning_effort, sent.verbosity, sent.prompt_cache_key, sent.service_tier),
            max_tokens=sent.max_completion_tokens if sent.max_completion_tokens is not None else sent.max_tokens,
            stream=bool(sent.stream),
        )

    def responses(self, sent: Responses, conversation: Conversation) -> Asked:
        """A responses request in the words of all dialects. Raises Refusal (400)."""
        if isinstance(sent.input, str):
            raws = [_encode({"type": "message", "role": "user", "content": sent.input})]
        else:
            raws = [bytes(raw) for raw in sent.input]
        items = [self._item(raw, f"input[{index}]", sent.model) for index, raw in enumerate(raws)]
        head = []
        if sent.instructions:
            piece = _piece("system", "system", "text", sent.instructions, None, sent.model)
            head.append(_Item("system", False, (piece,)))
        text = sent.text or Format()
        prompt, tools = self._prompt(sent.model, sent.tools, head, items, text.format, conversation)
        effort = None if sent.reasoning is None else sent.reasoning.effort
        options = sent.prompt_cache_options
        return _asked(
            "responses",
            sent.model,
            conversation.id,
            prompt,
            tools,
            items,
            settings=_settings(effort, text.verbosity, sent.prompt_cache_key, sent.service_tier),
            max_tokens=sent.max_output_tokens,
            stream=bool(sent.stream),
            compare=options is not None and options.comparison_response_id is not None,
            compare_with=None if options is None else options.comparison_response_id,
        )

    def _prompt(
        self,
        model: str,
        tools: list[Raw] | None,
        head: list[_Item],
        items: list[_Item],
        format: Raw,
        conversation: Conversation,
    ) -> tuple[Prompt, tuple[Tool, ...]]:
        first = b"".join(piece.digest for item in items[:1] for piece in item.pieces)
        growth = Growth(conversation.before(model, first))
        offered: list[Tool] = []
        for index, raw in enumerate(tools or ()):
            piece, tool = self._tool(bytes(raw), f"tools[{index}]", model)
            growth.add(piece, "tools", None, index, None)
            if tool is not None:
                offered.append(tool)
        if bytes(format) not in (b"", b"null"):
            shape = _encode(decode(_any, bytes(format)), order="sorted").decode()
            growth.add(_piece("tools", None, "options", shape, None, model), "tools", None, len(offered), None)
        for index, item in enumerate(head):
            for part, piece in enumerate(item.pieces):
                growth.add(piece, "system", item.role, index, part, "list")
        for index, item in enumerate(items):
            for part, piece in enumerate(item.pieces):
                growth.add(piece, "messages", item.role, index, part, "list")
        prompt = growth.finish(())
        conversation.grew(model, first, prompt)
        return prompt, tuple(offered)

    def _item(self, raw: bytes, path: str, model: str) -> _Item:
        key = blake2b(raw, digest_size=16).digest()
        found = self._items.get(key)
        if found is None:
            value = decode(_any, raw)
            if not isinstance(value, dict):
                raise Refusal(400, "must be an object", path=path)
            found = self._items[key] = _item_of(value, path, model)
        return found

    def _tool(self, raw: bytes, path: str, model: str) -> tuple[Piece, Tool | None]:
        key = blake2b(raw, digest_size=16).digest()
        found = self._tools.get(key)
        if found is None:
            value = decode(_any, raw)
            kind = value.get("type") if isinstance(value, dict) else None
            if not isinstance(kind, str):
                raise Refusal(400, "must be an object with a type", path=path)
            inner = value.get(kind)
            told = inner if isinstance(inner, dict) else value
            name = told.get("name")
            tool = (
                Tool(name, free=kind == "custom") if isinstance(name, str) and kind in ("function", "custom") else None
            )
            shown = name if isinstance(name, str) else kind
            text = _encode(value).decode()
            found = self._tools[key] = (_piece("tools", None, "tool", text, shown, model), tool)
        return found


def _item_of(value: dict[str, Any], path: str, model: str) -> _Item:
    kind = value.get("type") or "message"
    if not isinstance(kind, str):
        raise Refusal(400, "must be a string", path=f"{path}.type")
    if kind != "message":
        spoken = kind in _SPOKEN
        role = "assistant" if spoken else "user"
        name = value.get("name")
        piece = _piece(
            "messages", role, _KINDS.get(kind, kind), _text_of(value), name if isinstance(name, str) else None, model
        )
        return _Item(role, spoken, (piece,))
    return _message_of(value, path, model)


def _message_of(value: dict[str, Any], path: str, model: str) -> _Item:
    role = value.get("role")
    if role not in ROLES:
        raise Refusal(400, f"must be one of {', '.join(ROLES)}", path=f"{path}.role")
    section: Section = "system" if role in ("system", "developer") else "messages"
    content = value.get("content")
    pieces: list[Piece] = []
    is_result = role in ("tool", "function")
    parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    if content is not None and not isinstance(content, (str, list)):
        raise Refusal(400, "must be a string or an array", path=f"{path}.content")
    for index, part in enumerate(parts):
        if isinstance(part, str):
            kind: str = "text"
            text = part
        elif isinstance(part, dict) and isinstance(part.get("type"), str):
            kind = str(_KINDS.get(part["type"], part["type"]))
            text = _text_of(part)
        else:
            raise Refusal(400, "must be an object with a type", path=f"{path}.content[{index}]")
        pieces.append(_piece(section, role, "tool_result" if is_result else kind, text, None, model))
    calls = value.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise Refusal(400, "must be an array", path=f"{path}.tool_calls")
    for index, call in enumerate(calls or ()):
        if not isinstance(call, dict):
            raise Refusal(400, "must be an object", path=f"{path}.tool_calls[{index}]")
        inner = call.get("function") or call.get("custom")
        name = inner.get("name") if isinstance(inner, dict) else None
        shown = name if isinstance(name, str) else None
        pieces.append(_piece(section, role, "tool_use", _encode(call).decode(), shown, model))
    if not pieces:
        pieces.append(_piece(section, role, "text", "", None, model))
    return _Item(role, role == "assistant", tuple(pieces))


def _text_of(value: dict[str, Any]) -> str:
    """The text of a part, or its JSON where it is more than text. Long data is replaced by its digest."""
    text = value.get("text")
    if isinstance(text, str) and set(value) <= {"type", "text", "annotations", "logprobs"}:
        return text
    image = value.get("image_url")
    if isinstance(image, dict):
        image = image.get("url")
    if isinstance(image, str) and len(image) > _LONG_DATA:
        return f"image {blake2b(image.encode(), digest_size=16).hexdigest()}"
    return _encode(value).decode()


def _piece(section: str, role: str | None, kind: str, text: str, name: str | None, model: str) -> Piece:
    person = blake2b(f"{section}\0{role}\0{kind}".encode(), digest_size=16).digest()
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE, person=person).digest()
    tokens = IMAGE_TOKENS if kind == "image" else scale(estimate_quickly(text), model)
    return Piece(digest, kind, name, tokens, text, None, (), (), 0)


def _settings(
    effort: str | None, verbosity: str | None, key: str | None, tier: str | None
) -> tuple[tuple[str, str], ...]:
    pairs = {"effort": effort, "verbosity": verbosity, "prompt_cache_key": key, "service_tier": tier}
    return tuple(sorted((name, _encode(value).decode()) for name, value in pairs.items() if value is not None))


def _asked(
    dialect: Dialect,
    model: str,
    session: str,
    prompt: Prompt,
    tools: tuple[Tool, ...],
    items: list[_Item],
    *,
    settings: tuple[tuple[str, str], ...],
    max_tokens: int | None,
    stream: bool,
    compare: bool = False,
    compare_with: str | None = None,
) -> Asked:
    turn, spoke = 0, False
    for item in items:
        turn += item.spoken and not spoke
        spoke = item.spoken
    last = items[-1].pieces[-1] if items and items[-1].pieces else None
    return Asked(
        dialect=dialect,
        provider="openai",
        model=model,
        session=session,
        prompt=prompt,
        settings=settings,
        tools=tools,
        turn=turn,
        messages=len(items),
        heard=(last.text or "") if last is not None else "",
        max_tokens=max_tokens,
        stream=stream,
        compare=compare,
        compare_with=compare_with,
    )
