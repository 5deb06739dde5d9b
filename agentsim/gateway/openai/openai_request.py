"""Bodies of the OpenAI APIs, as the emulated provider and the recorder take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from agentsim.bodies.body_error import BodyError
from agentsim.bodies.openai_reader import ABSENT, Chat, OpenAIReader, ReadOpenAIBody, Responses
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.json_decoding import decode
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.scripted_reply import ChatRequest, Demands, Dialect, Tool, schema_in
from agentsim.rules.providers import rules_for
from agentsim.traces.capture_lanes import AskingAgent

__all__ = ["Chat", "OpenAIBodies", "Responses", "chat_of", "responses_of"]

_chat = msgspec.json.Decoder(Chat)
_responses = msgspec.json.Decoder(Responses)
_fields = msgspec.json.Decoder(dict[str, Raw])

COUNTED_AS = "gpt-5.5"
"""The model whose tokens are counted where a request names none."""


def chat_of(body: bytes) -> Chat:
    """The parts of a chat request. Raises Refusal (400)."""
    sent: Chat = decode(_chat, body)
    if not sent.messages:
        raise Refusal(400, "at least one message is required", path="messages")
    return sent


def counted_of(body: bytes) -> Responses:
    """The parts of a request to count its input, which need not name a model, nor have any. Raises Refusal (400)."""
    found: dict[str, Raw] = decode(_fields, body)
    if bytes(found.get("model", ABSENT)) in (b"", b"null"):
        found["model"] = Raw(msgspec.json.encode(COUNTED_AS))
    if bytes(found.get("input", ABSENT)) == b"null":
        del found["input"]
    sent: Responses = decode(_responses, msgspec.json.encode(found))
    return sent


def responses_of(body: bytes) -> Responses:
    """The parts of a responses request. Raises Refusal (400)."""
    sent: Responses = decode(_responses, body)
    if not sent.input and sent.previous_response_id is None and bytes(sent.conversation) in (b"", b"null"):
        raise Refusal(400, "must not be empty", path="input")
    return sent


class OpenAIBodies:
    """Makes prompts of bodies. Remembers items it has seen, so that a body costs what is new in it. Mutable."""

    def __init__(self) -> None:
        self._reader = OpenAIReader()

    def chat(self, sent: Chat, conversation: Conversation, agent: AskingAgent | None = None) -> ChatRequest:
        """A chat request in the words of all dialects. Raises Refusal (400)."""
        first = self._reader.first_of(sent)
        try:
            read = self._reader.chat(sent, conversation.before(sent.model, first))
        except BodyError as error:
            raise Refusal(400, error.reason, path=error.path or None) from None
        conversation.grew(sent.model, first, read.prompt)
        most = sent.max_completion_tokens if sent.max_completion_tokens is not None else sent.max_tokens
        return _asked(
            "chat",
            read,
            conversation.id,
            max_tokens=most,
            stream=bool(sent.stream),
            echoed=_echoed(sent),
            agent=agent,
            demands=_demands(sent),
        )

    def counted(self, sent: Responses, history: Sequence[bytes] = ()) -> int:
        """How many tokens a responses request is, behind what the server holds. Raises Refusal (400)."""
        try:
            prompt = self._reader.responses(sent, history).prompt
        except BodyError as error:
            raise Refusal(400, error.reason, path=error.path or None) from None
        return prompt.tokens + rules_for("openai", sent.model, None).closing if len(prompt) else 0

    def responses(
        self,
        sent: Responses,
        conversation: Conversation,
        history: Sequence[bytes] = (),
        *,
        compacts: bool = False,
        agent: AskingAgent | None = None,
    ) -> ChatRequest:
        """A responses request in the words of all dialects, behind what the server holds. Raises Refusal (400)."""
        first = self._reader.first_of(sent, history)
        try:
            read = self._reader.responses(sent, history, conversation.before(sent.model, first))
        except BodyError as error:
            raise Refusal(400, error.reason, path=error.path or None) from None
        conversation.grew(sent.model, first, read.prompt)
        options = sent.prompt_cache_options
        compared = None if options is None else options.comparison_response_id
        return _asked(
            "responses",
            read,
            conversation.id,
            max_tokens=sent.max_output_tokens,
            stream=bool(sent.stream),
            echoed=_echoed(sent),
            compare_with=compared,
            silent=options is not None and bool(options.prewarm),
            compacts=compacts,
            agent=agent,
            demands=_demands(sent),
        )


def _echoed(sent: Chat | Responses) -> dict[str, Any]:
    """What an answer repeats of its request."""
    found: dict[str, Any] = {}
    if sent.prompt_cache_key is not None:
        found["prompt_cache_key"] = sent.prompt_cache_key
    if sent.prompt_cache_retention is not None:
        found["prompt_cache_retention"] = sent.prompt_cache_retention
    if isinstance(sent, Responses):
        found["instructions"] = sent.instructions
        found["previous_response_id"] = sent.previous_response_id
        found["store"] = sent.store is not False
        found["background"] = bool(sent.background)
        if sent.reasoning is not None:
            found["reasoning"] = {"effort": sent.reasoning.effort, "summary": None}
        if sent.prompt_cache_options is not None:
            options = sent.prompt_cache_options
            found["prompt_cache_options"] = {
                "mode": options.mode or "implicit",
                "ttl": options.ttl or "30m",
                "comparison_response_id": options.comparison_response_id,
            }
    return found


def _asked(
    dialect: Dialect,
    read: ReadOpenAIBody,
    session: str,
    *,
    max_tokens: int | None,
    stream: bool,
    echoed: dict[str, Any],
    compare_with: str | None = None,
    silent: bool = False,
    compacts: bool = False,
    agent: AskingAgent | None = None,
    demands: Demands | None = None,
) -> ChatRequest:
    turn, spoke = 0, False
    for item in read.items:
        turn += item.turns + (item.spoken and not spoke)
        spoke = item.spoken
    last = read.items[-1].pieces[-1] if read.items and read.items[-1].pieces else None
    return ChatRequest(
        dialect=dialect,
        provider="openai",
        model=read.model,
        session=session,
        prompt=read.prompt,
        settings=read.settings,
        tools=tuple(Tool(tool.name, tool.free) for tool in read.tools),
        turn=turn,
        messages=len(read.items),
        heard=(last.text or "") if last is not None else "",
        max_tokens=max_tokens,
        stream=stream,
        compare=compare_with is not None,
        compare_with=compare_with,
        echoed=echoed,
        silent=silent,
        compacts=compacts,
        agent=agent,
        demands=demands,
    )


class _Function(msgspec.Struct):
    name: str | None = None
    parameters: Raw = ABSENT


class _Choice(_Function):
    """``tool_choice`` as an object, or a tool."""

    type: str | None = None
    function: _Function | None = None

    def of(self) -> _Function:
        """What names the tool, in either API."""
        return self if self.function is None else self.function


_choices = msgspec.json.Decoder(str | _Choice)
_tools = msgspec.json.Decoder(_Choice)


def _demands(sent: Chat | Responses) -> Demands | None:
    """What the request demands of its reply; ``None`` where that is nothing."""
    if isinstance(sent, Chat):
        format, stop = bytes(sent.response_format), sent.stop
    else:
        format, stop = (b"" if sent.text is None else bytes(sent.text.format)), None
    schema = schema_in(format) if format else b""
    given = bytes(sent.tool_choice)
    if given in (b"", b"null", b'"auto"') and not schema and not stop:
        return None
    call = None
    if given not in (b"", b"null", b'"auto"', b'"none"'):
        choice = decode(_choices, given)
        call = "" if choice == "required" else choice.of().name if isinstance(choice, _Choice) else None
    stops = (stop,) if isinstance(stop, str) else tuple(stop or ())
    return Demands(
        call=call,
        no_call=given == b'"none"',
        call_schema=_parameters(sent.tools or [], call) if call is not None else b"",
        schema=schema,
        stops=stops,
    )


def _parameters(tools: list[Raw], name: str) -> bytes:
    """The schema of the tool of this name, or of the first one."""
    for raw in tools:
        try:
            tool = _tools.decode(raw).of()
        except msgspec.MsgspecError:
            continue
        if not name or tool.name == name:
            return bytes(tool.parameters)
    return b""
