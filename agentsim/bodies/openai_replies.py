"""What an answer of the OpenAI APIs says of its usage, whole or streamed.

Usage convention: the totals of both APIs include what was read from the cache and written to it.
"""

from __future__ import annotations

import msgspec

from agentsim.bodies.answering_hosts import host_named
from agentsim.bodies.messages_replies import MessagesReply
from agentsim.bodies.messages_usage import ABSENT
from agentsim.bodies.openai_usage import OpenAIUsage, contradiction_in, openai_usage, picodollars
from agentsim.bodies.sse import data_of, is_stream
from agentsim.core.session import ProviderDiagnosis, Usage
from agentsim.core.strict_decoding import BadRow, Count


class _Choice(msgspec.Struct, gc=False):
    finish_reason: str | None = None


class _Diagnostics(msgspec.Struct, gc=False):
    """``prompt_cache_diagnostics``."""

    type: str | None = None
    reason: str | None = None
    cache_missed_tokens: Count | None = None


class _Body(msgspec.Struct, gc=False):
    """A completion, a chunk of one, or a response."""

    id: str | None = None
    model: str | None = None
    provider: msgspec.Raw = ABSENT
    """OpenRouter's word on which of its hosts answered."""
    system_fingerprint: msgspec.Raw = ABSENT
    timings: msgspec.Raw = ABSENT
    status: str | None = None
    service_tier: str | None = None
    usage: OpenAIUsage | None = None
    choices: list[_Choice] | None = None
    output: list[msgspec.Raw] | None = None
    prompt_cache_diagnostics: _Diagnostics | None = None


class _Event(_Body, gc=False):
    """An event of a streamed response, or a chunk."""

    type: str | None = None
    response: _Body | None = None


class OpenAIReply(msgspec.Struct, frozen=True):
    """A reply, and what it said as items of a responses history (empty for a completion)."""

    reply: MessagesReply
    output: tuple[bytes, ...] = ()


_bodies = msgspec.json.Decoder(_Body)
_events = msgspec.json.Decoder(_Event)

_ENDS = ("response.completed", "response.incomplete")
_REASONS = {"cache_hit": None, "comparison_response_not_found": "previous_message_not_found"}


def read_answer(data: bytes) -> OpenAIReply:
    """What a whole answer tells. Raises BadRow when it is none."""
    try:
        return _answered(_bodies.decode(data), finished=True)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRow("no response", str(error)) from None


def read_stream(data: bytes) -> OpenAIReply:
    """What a stream tells; of one that broke off, what was seen. Raises BadRow when it holds no event."""
    whole: _Body | None = None
    finished = False
    for raw in data_of(data):
        if raw == b"[DONE]" or (whole is not None and b'"usage"' not in raw and b'"finish_reason"' not in raw):
            continue
        try:
            event = _events.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        body = event.response if event.response is not None else event
        finished = finished or event.type in _ENDS
        if whole is None or event.response is not None:
            whole = body
        elif event.choices is not None:
            whole.usage = body.usage or whole.usage
            whole.choices = body.choices or whole.choices
    if whole is None or whole.id is None:
        raise BadRow("no response", "the stream holds no chunk and no event with a response")
    return _answered(whole, finished=finished or whole.usage is not None)


def read(data: bytes) -> OpenAIReply:
    """What a recorded answer tells, whole or streamed. Raises BadRow when it is none."""
    return read_stream(data) if is_stream(data) else read_answer(data)


def _answered(body: _Body, *, finished: bool) -> OpenAIReply:
    stop = next((choice.finish_reason for choice in body.choices or () if choice.finish_reason), None)
    reply = MessagesReply(
        id=body.id,
        model=body.model,
        stop_reason=stop or body.status,
        usage=None if body.usage is None else usage_told(body.usage),
        diagnosis=_diagnosis(body.prompt_cache_diagnostics),
        service_tier=body.service_tier,
        host=host_named(body.provider),
        provider=_shown(body),
        logged_cost=None if body.usage is None else picodollars(bytes(body.usage.cost)),
        doubt=None if body.usage is None else contradiction_in(body.usage),
        output_final=finished,
    )
    return OpenAIReply(reply, tuple(bytes(item) for item in body.output or ()))


def _shown(body: _Body) -> str | None:
    """Whose server wrote an answer, by fields that hardly another writes."""
    if host_named(body.provider) is not None:
        return "openrouter"
    if b"ollama" in bytes(body.system_fingerprint):
        return "ollama"
    return "llamacpp" if b'"prompt_n"' in bytes(body.timings) else None


def usage_told(sent: OpenAIUsage) -> Usage:
    """Counters without overlap. A bare 0 of written tokens tells nothing: models without breakpoints report it always.
    Raises BadRow when more was cached than sent."""
    usage = openai_usage(sent)
    return msgspec.structs.replace(usage, write_other=None) if usage.write_other == 0 else usage


def _diagnosis(sent: _Diagnostics | None) -> ProviderDiagnosis:
    if sent is None or sent.type is None:
        return ProviderDiagnosis()
    reason = sent.reason if sent.type == "cache_miss" else _REASONS.get(sent.type, sent.type)
    return ProviderDiagnosis(reported=True, reason=reason, missed_tokens=sent.cache_missed_tokens)
