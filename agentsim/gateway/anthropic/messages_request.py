"""Bodies of the Messages API: what an answer depends on, and what the provider would refuse."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from agentsim.bodies import BodyError, MessagesReader
from agentsim.core.prompt import Prompt
from agentsim.core.tokens import estimate_quickly, family_factor, scale
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.json_decoding import decode
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.scripted_reply import ChatRequest, Demands, Tool, schema_in
from agentsim.traces.capture_lanes import AskingAgent
from agentsim.traces.exchanges import session_in

ABSENT = Raw(b"")
_UNMARKABLE = ("thinking", "redacted_thinking")
_LIFETIMES = ("5m", "1h")


class Marker(msgspec.Struct, gc=False):
    """``cache_control``."""

    type: str | None = None
    ttl: str | None = None


class SentBlock(msgspec.Struct, gc=False):
    """A content block, as far as rules look at it."""

    type: str
    text: str | None = None
    id: str | None = None
    tool_use_id: str | None = None
    cache_control: Marker | None = None
    content: Raw = ABSENT


class RequestMessage(msgspec.Struct, gc=False):
    """A message."""

    role: str
    content: str | list[SentBlock]


class SentTool(msgspec.Struct, gc=False):
    """A tool definition."""

    name: str | None = None
    type: str | None = None
    defer_loading: bool | None = None
    cache_control: Marker | None = None
    input_schema: Raw = ABSENT


class Thinking(msgspec.Struct, gc=False):
    """``thinking``."""

    type: str
    budget_tokens: int | None = None


class Choice(msgspec.Struct, gc=False):
    """``tool_choice``."""

    type: str | None = None
    name: str | None = None


class OutputConfig(msgspec.Struct, gc=False):
    """``output_config``."""

    format: Raw = ABSENT


class DiagnosticsParameter(msgspec.Struct, gc=False):
    """``diagnostics``."""

    previous_message_id: str | None = None


class CountTokensBody(msgspec.Struct, gc=False):
    """A body of ``count_tokens``: all that a prompt is made of."""

    model: str
    messages: list[RequestMessage]
    tools: list[SentTool] | None = None
    system: str | list[SentBlock] | None = None
    cache_control: Marker | None = None
    thinking: Thinking | None = None
    metadata: Raw = ABSENT


class MessagesRequestBody(CountTokensBody, gc=False, kw_only=True):
    """A body of ``messages``."""

    max_tokens: int
    stream: bool | None = None
    diagnostics: DiagnosticsParameter | None = None
    tool_choice: Choice | None = None
    output_config: OutputConfig | None = None
    output_format: Raw = ABSENT
    stop_sequences: list[str] | None = None


class _Outline(msgspec.Struct, gc=False):
    messages: list[Raw]


_sent = msgspec.json.Decoder(MessagesRequestBody)
_counted = msgspec.json.Decoder(CountTokensBody)
_outline = msgspec.json.Decoder(_Outline)
_texts = msgspec.json.Decoder(Any)


class MessagesBodies:
    """Reads bodies of the Messages API. Keeps what bodies have in common. Mutable.

    ``checked=False`` leaves it to a real provider to refuse what breaks a rule of form.
    """

    def __init__(self, *, checked: bool = True) -> None:
        self._checked = checked
        self._readers: dict[tuple[int, int], MessagesReader] = {}

    def sent(self, body: bytes) -> MessagesRequestBody:
        """The parts of a request. Raises Refusal (400) when it is none, or breaks a rule of form."""
        sent: MessagesRequestBody = decode(_sent, body)
        if self._checked:
            check(sent)
        return sent

    def counted(self, body: bytes) -> CountTokensBody:
        """The parts of a request to count tokens. Raises Refusal (400)."""
        counted: CountTokensBody = decode(_counted, body)
        _check_roles(counted.messages)
        return counted

    def prompt(
        self, body: bytes, sent: CountTokensBody, conversation: Conversation | None
    ) -> tuple[Prompt, tuple[tuple[str, str], ...]]:
        """The prompt and the settings of a body. Raises Refusal (400)."""
        if not sent.messages:
            raise Refusal(400, "at least one message is required", path="messages")
        factor = family_factor(sent.model)
        reader = self._readers.get(factor)
        if reader is None:
            model = sent.model
            reader = self._readers[factor] = MessagesReader(estimate=lambda text: scale(estimate_quickly(text), model))
        first = bytes(_outline.decode(body).messages[0])
        before = None if conversation is None else conversation.before(sent.model, first)
        try:
            read = reader.read(body, before)
        except BodyError as error:
            raise Refusal(400, error.reason, path=error.path or None) from None
        if conversation is not None:
            conversation.grew(sent.model, first, read.prompt)
        return read.prompt, read.settings


def asked_of(
    sent: MessagesRequestBody,
    session: str,
    prompt: Prompt,
    settings: tuple[tuple[str, str], ...],
    agent: AskingAgent | None = None,
) -> ChatRequest:
    """A request to the Messages API in the words of all dialects."""
    return ChatRequest(
        dialect="messages",
        provider="anthropic",
        model=sent.model,
        session=session,
        prompt=prompt,
        settings=settings,
        tools=tuple(Tool(tool.name) for tool in sent.tools or () if tool.name and not tool.defer_loading),
        turn=sum(message.role == "assistant" for message in sent.messages),
        messages=len(sent.messages),
        heard=_heard(sent.messages[-1]),
        max_tokens=sent.max_tokens,
        stream=bool(sent.stream),
        compare=sent.diagnostics is not None,
        compare_with=None if sent.diagnostics is None else sent.diagnostics.previous_message_id,
        agent=agent,
        demands=_demands(sent),
    )


def _demands(sent: MessagesRequestBody) -> Demands | None:
    """What the request demands of its reply; ``None`` where that is nothing."""
    choice = sent.tool_choice
    format = sent.output_format if sent.output_config is None else sent.output_config.format
    raw = bytes(format) or bytes(sent.output_format)
    kind = None if choice is None else choice.type
    if kind in (None, "auto") and raw in (b"", b"null") and not sent.stop_sequences:
        return None
    call = (choice.name or "") if choice is not None and kind in ("any", "tool") else None
    tools = [tool for tool in sent.tools or () if tool.name and (not call or tool.name == call)]
    return Demands(
        call=call,
        no_call=kind == "none",
        call_schema=bytes(tools[0].input_schema) if call is not None and tools else b"",
        schema=schema_in(raw),
        stops=tuple(sent.stop_sequences or ()),
    )


def session_of(sent: CountTokensBody) -> str | None:
    """The session that a request names in its metadata."""
    return session_in(bytes(sent.metadata))


def check(sent: MessagesRequestBody) -> None:
    """Raise Refusal (400) for what the provider would not accept, whatever its cache holds.

    Rules of form only; how many breakpoints may be, and in which order of lifetimes, are rules of the modeled provider.
    """
    if sent.max_tokens < 0:
        raise Refusal(400, "must not be negative", path="max_tokens")
    if not sent.messages:
        raise Refusal(400, "at least one message is required", path="messages")
    if sent.messages[0].role == "assistant":
        raise Refusal(400, "the first message must be the user's", path="messages[0].role")
    for index, tool in enumerate(sent.tools or ()):
        path = f"tools[{index}].cache_control"
        _check_marker(tool.cache_control, path)
        if tool.defer_loading and tool.cache_control is not None:
            raise Refusal(400, "a tool whose loading is deferred cannot carry a breakpoint", path=path)
    if sent.tools and all(tool.defer_loading for tool in sent.tools):
        raise Refusal(400, "at least one tool must not be deferred", path="tools")
    if isinstance(sent.system, list):
        for index, block in enumerate(sent.system):
            _check_block(block, f"system[{index}]")
    _check_roles(sent.messages)
    for index, message in enumerate(sent.messages):
        if isinstance(message.content, list):
            for part, block in enumerate(message.content):
                _check_block(block, f"messages[{index}].content[{part}]")
    _check_tool_results(sent.messages)
    _check_automatic(sent)
    if sent.max_tokens == 0:
        _check_warming(sent)
    thinking = sent.thinking
    if thinking is not None and thinking.type == "enabled":
        if thinking.budget_tokens is None or thinking.budget_tokens < 1024:
            raise Refusal(400, "must be at least 1024", path="thinking.budget_tokens")
        if thinking.budget_tokens >= sent.max_tokens:
            raise Refusal(400, "must be less than max_tokens", path="thinking.budget_tokens")


def _check_warming(sent: MessagesRequestBody) -> None:
    """A request for no output only fills the cache: it cannot ask for anything about the output."""
    if sent.stream:
        raise Refusal(400, "must be positive for a stream", path="max_tokens")
    if sent.tool_choice is not None and sent.tool_choice.type in ("any", "tool"):
        raise Refusal(400, "must be positive where a tool has to be called", path="max_tokens")
    formats = [sent.output_format] if sent.output_config is None else [sent.output_format, sent.output_config.format]
    if any(bytes(asked) not in (b"", b"null") for asked in formats):
        raise Refusal(400, "must be positive where the output has a format", path="max_tokens")


def _check_roles(messages: list[RequestMessage]) -> None:
    for index, message in enumerate(messages):
        if message.role not in ("user", "assistant", "system"):
            raise Refusal(400, "must be user, assistant or system", path=f"messages[{index}].role")


def _check_block(block: SentBlock, path: str) -> None:
    marker = block.cache_control
    if marker is None:
        return
    _check_marker(marker, f"{path}.cache_control")
    if block.type in _UNMARKABLE:
        raise Refusal(400, "a thinking block cannot carry a breakpoint", path=f"{path}.cache_control")
    if block.type == "text" and not block.text:
        raise Refusal(400, "an empty text block cannot carry a breakpoint", path=f"{path}.cache_control")


def _check_marker(marker: Marker | None, path: str) -> None:
    if marker is None:
        return
    if marker.type != "ephemeral":
        raise Refusal(400, "must be ephemeral", path=f"{path}.type")
    if marker.ttl is not None and marker.ttl not in _LIFETIMES:
        raise Refusal(400, "must be 5m or 1h", path=f"{path}.ttl")


def _check_automatic(sent: MessagesRequestBody) -> None:
    """The breakpoint that a top-level ``cache_control`` asks for must not contradict one that is there."""
    marker = sent.cache_control
    if marker is None:
        return
    _check_marker(marker, "cache_control")
    last = sent.messages[-1].content
    block = last[-1] if isinstance(last, list) and last else None
    own = None if block is None else block.cache_control
    if own is not None and (own.ttl or "5m") != (marker.ttl or "5m"):
        raise Refusal(400, "the last block has a breakpoint of another lifetime", path="cache_control.ttl")


def _check_tool_results(messages: list[RequestMessage]) -> None:
    """Each call of a tool is answered in the message after it, and nothing else is."""
    open_calls: frozenset[str] = frozenset()
    for index, message in enumerate(messages):
        if message.role == "system":
            continue
        blocks = message.content if isinstance(message.content, list) else []
        if message.role == "user":
            answered = [block.tool_use_id for block in blocks if block.type == "tool_result"]
            if any(call not in open_calls for call in answered):
                raise Refusal(400, "a tool_result without its tool_use before it", path=f"messages[{index}]")
            if open_calls.difference(call for call in answered if call is not None):
                raise Refusal(400, "a tool_use before it has no tool_result here", path=f"messages[{index}]")
            open_calls = frozenset()
        else:
            calls = frozenset(block.id for block in blocks if block.type == "tool_use" and block.id is not None)
            open_calls = open_calls | calls
    if open_calls and messages[-1].role != "assistant":
        raise Refusal(400, "a tool_use has no tool_result", path="messages")


def _heard(message: RequestMessage) -> str:
    """The text of the last message: what was typed, or what the last tool said."""
    if isinstance(message.content, str):
        return message.content
    for block in reversed(message.content):
        if block.type == "text" and block.text:
            return block.text
        if block.type == "tool_result" and bytes(block.content):
            value = _texts.decode(block.content)
            if isinstance(value, str):
                return value
            for item in value if isinstance(value, list) else ():
                if isinstance(item, dict) and isinstance(item.get("text"), str):
                    return str(item["text"])
    return ""
