"""Bodies of the Gemini API: their prompts, and what an answer depends on."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from agentsim.bodies.openai_items import piece
from agentsim.bodies.prompt_growth import PromptGrowth
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.json_decoding import decode
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.scripted_reply import ChatRequest, Demands, Tool

_encode = msgspec.json.encode


class GeminiContent(msgspec.Struct, gc=False):
    """A message, or the system instruction."""

    parts: list[dict[str, Any]] = []
    role: str | None = None


class GenerationConfig(msgspec.Struct, gc=False, rename="camel"):
    """``generationConfig``."""

    max_output_tokens: int | None = None
    stop_sequences: list[str] | None = None
    response_mime_type: str | None = None
    response_schema: Any = None
    response_json_schema: Any = None
    thinking_config: dict[str, Any] | None = None


class CachedBody(msgspec.Struct, gc=False, rename="camel"):
    """A body of ``cachedContents``: what a prompt begins with, and how long it is kept."""

    contents: list[GeminiContent] = []
    system_instruction: GeminiContent | str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_config: dict[str, Any] | None = None
    model: str | None = None
    ttl: str | None = None
    display_name: str | None = None


class GeminiBody(CachedBody, gc=False, rename="camel"):
    """A body of ``generateContent``."""

    generation_config: GenerationConfig | None = None
    cached_content: str | None = None


class _CountTokensBody(msgspec.Struct, gc=False, rename="camel"):
    contents: list[GeminiContent] = []
    generate_content_request: GeminiBody | None = None


_bodies = msgspec.json.Decoder(GeminiBody)
_cached = msgspec.json.Decoder(CachedBody)
_counted = msgspec.json.Decoder(_CountTokensBody)


def body_of(body: bytes) -> GeminiBody:
    """The parts of a request. Raises Refusal (400)."""
    sent: GeminiBody = decode(_bodies, body)
    if not sent.contents:
        raise Refusal(400, "contents is not specified", path="contents")
    return sent


def cached_of(body: bytes) -> CachedBody:
    """The parts of a cache that shall be kept. Raises Refusal (400)."""
    sent: CachedBody = decode(_cached, body)
    if not sent.model:
        raise Refusal(400, "must name a model", path="model")
    return sent


def update_of(body: bytes) -> CachedBody:
    """What shall be different about a cache. Raises Refusal (400)."""
    sent: CachedBody = decode(_cached, body)
    return sent


def counted_of(body: bytes) -> GeminiBody:
    """The parts of a request to count tokens. Raises Refusal (400)."""
    sent: _CountTokensBody = decode(_counted, body)
    return sent.generate_content_request or GeminiBody(contents=sent.contents)


class HeldCache(msgspec.Struct, frozen=True):
    """A cache that was made: what it holds, and for how many seconds."""

    body: CachedBody
    seconds: int


def prompt_of(sent: CachedBody, model: str, held: HeldCache | None = None, before: Prompt | None = None) -> Prompt:
    """The prompt of a body, behind what a named cache holds; a breakpoint stands at the end of that."""
    growth = PromptGrowth(before)
    head = sent if held is None else held.body
    for index, tool in enumerate(head.tools or ()):
        for part, (name, text) in enumerate(_tool_texts(tool)):
            growth.add(piece("tools", None, "tool", text, name, model), "tools", None, index, part)
    told = head.system_instruction
    system = GeminiContent([{"text": told}]) if isinstance(told, str) else told
    for part, value in enumerate(system.parts if system is not None else ()):
        growth.add(_part(value, "system", "system", model), "system", "system", 0, part, "list")
    contents = [] if held is None else list(held.body.contents)
    end = len(contents)
    markers: tuple[Breakpoint, ...] = ()
    if held is not None and not end:
        markers = (Breakpoint(growth.count - 1, held.seconds),)
    for index, content in enumerate([*contents, *(sent.contents if held is None or sent is not held.body else ())]):
        role = "assistant" if content.role == "model" else "user"
        for part, value in enumerate(content.parts):
            growth.add(_part(value, "messages", role, model), "messages", role, index, part, "list")
        if held is not None and index == end - 1:
            markers = (Breakpoint(growth.count - 1, held.seconds),)
    return growth.finish(markers)


def asked_of(
    sent: GeminiBody, model: str, conversation: Conversation, *, stream: bool, held: HeldCache | None = None
) -> ChatRequest:
    """A request to the Gemini API in the words of all dialects."""
    first = blake2b(_encode(sent.contents[0]), digest_size=16).digest()
    prompt = prompt_of(sent, model, held, conversation.before(model, first))
    conversation.grew(model, first, prompt)
    config = sent.generation_config or GenerationConfig()
    head = sent if held is None else held.body
    declared = [one for tool in head.tools or () for one in _declared(tool)]
    turn, spoke = 0, False
    contents = [*(held.body.contents if held is not None else ()), *sent.contents]
    for content in contents:
        turn += content.role == "model" and not spoke
        spoke = content.role == "model"
    thinking = config.thinking_config
    settings = () if thinking is None else (("thinking", _encode(thinking, order="sorted").decode()),)
    return ChatRequest(
        dialect="gemini",
        provider="gemini",
        model=model,
        session=conversation.id,
        prompt=prompt,
        settings=settings,
        tools=tuple(Tool(str(one.get("name"))) for one in declared if one.get("name")),
        turn=turn,
        messages=len(contents),
        heard=_heard(sent.contents[-1]),
        max_tokens=config.max_output_tokens,
        stream=stream,
        demands=_demands(sent, config, declared),
    )


def _demands(sent: GeminiBody, config: GenerationConfig, declared: list[dict[str, Any]]) -> Demands | None:
    calling = (sent.tool_config or {}).get("functionCallingConfig")
    mode = calling.get("mode") if isinstance(calling, dict) else None
    schema = config.response_json_schema or config.response_schema
    if schema is None and config.response_mime_type == "application/json":
        schema = {}
    if mode not in ("ANY", "NONE") and schema is None and not config.stop_sequences:
        return None
    allowed = calling.get("allowedFunctionNames") if isinstance(calling, dict) else None
    call = None
    if mode == "ANY" and declared:
        call = str(allowed[0]) if isinstance(allowed, list) and len(allowed) == 1 else ""
    tool: dict[str, Any] = next((one for one in declared if not call or one.get("name") == call), {})
    shape = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
    return Demands(
        call=call,
        no_call=mode == "NONE",
        call_schema=_encode(_lowered(shape)) if call is not None else b"",
        schema=b"" if schema is None else _encode(_lowered(schema)),
        stops=tuple(config.stop_sequences or ()),
    )


def _lowered(schema: Any) -> Any:
    """A schema whose types are written as JSON Schema writes them."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(one) for one in schema] if isinstance(schema, list) else schema


def _declared(tool: dict[str, Any]) -> list[dict[str, Any]]:
    found = tool.get("functionDeclarations")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _tool_texts(tool: dict[str, Any]) -> list[tuple[str | None, str]]:
    declared = _declared(tool)
    if not declared:
        return [(next(iter(tool), None), _encode(tool).decode())]
    return [(str(one.get("name")), _encode(one).decode()) for one in declared]


def _part(value: dict[str, Any], section: str, role: str, model: str) -> Any:
    text = value.get("text")
    if isinstance(text, str):
        return piece(section, role, "thinking" if value.get("thought") else "text", text, None, model)
    call = value.get("functionCall")
    if isinstance(call, dict):
        return piece(section, role, "tool_use", _encode(call, order="sorted").decode(), str(call.get("name")), model)
    answer = value.get("functionResponse")
    if isinstance(answer, dict):
        return piece(section, role, "tool_result", _encode(answer, order="sorted").decode(), None, model)
    data = value.get("inlineData") or value.get("fileData")
    if isinstance(data, dict):
        digest = blake2b(_encode(data, order="sorted"), digest_size=16).hexdigest()
        is_image = str(data.get("mimeType", "")).startswith("image/")
        return piece(section, role, "image" if is_image else "file", f"data {digest}", None, model)
    return piece(section, role, "text", _encode(value, order="sorted").decode(), None, model)


def _heard(content: GeminiContent) -> str:
    for part in reversed(content.parts):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        answer = part.get("functionResponse")
        if isinstance(answer, dict):
            return _encode(answer.get("response")).decode()
    return ""
