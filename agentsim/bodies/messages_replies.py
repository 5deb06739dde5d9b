"""What the response to a Messages request says: its usage, and what else bears on the bill."""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import ABSENT, SentUsage, diagnosis_of, usage_of
from agentsim.core.session import ProviderDiagnosis, Request, Usage
from agentsim.core.strict_decoding import BadRow, Count, decode


class ReplyUsage(SentUsage, frozen=True, gc=False):
    """``usage`` of a response. ``prompt_tokens`` gives away another provider's convention."""

    prompt_tokens: Count | None = None


class ResponseMessage(msgspec.Struct, gc=False):
    """A whole response, or the ``message`` that a stream begins with."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: ReplyUsage | None = None
    diagnostics: msgspec.Raw = ABSENT


class MessagesReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A response in the vocabulary's terms. ``host`` is who answered behind a gateway, ``provider`` whose server wrote
    it as its fields show, ``logged_cost`` what it says that it cost, in picodollars; ``output_final`` is False for a
    stream that broke off; ``doubt`` is a word on counters that contradict each other."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    iterations: tuple[Usage, ...] = ()
    diagnosis: ProviderDiagnosis = ProviderDiagnosis()
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    host: str | None = None
    provider: str | None = None
    logged_cost: int | None = None
    output_final: bool = True
    doubt: str | None = None


def with_reply(request: Request, reply: MessagesReply, *, whole: bool = True) -> Request:
    """A request with what its response says beside the counters. ``whole`` is False for one that broke off."""
    return msgspec.structs.replace(
        request,
        model=reply.model or request.model,
        iterations=reply.iterations,
        diagnosis=reply.diagnosis,
        stop_reason=reply.stop_reason,
        service_tier=reply.service_tier,
        speed=reply.speed,
        region=reply.region,
        host=reply.host,
        output_final=reply.output_final and whole,
    )


_message_decoder = msgspec.json.Decoder(ResponseMessage)


def read_message(data: bytes | msgspec.Raw) -> MessagesReply:
    """A response that came whole. Raises BadRow for JSON that is none, and for counters that cannot be meant."""
    return reply_of(decode(_message_decoder, data))


def reply_of(message: ResponseMessage, *, output_final: bool = True) -> MessagesReply:
    """A decoded response. Raises BadRow when the counters contradict each other or are another provider's."""
    usage = message.usage
    if usage is None:
        return MessagesReply(
            id=message.id, model=message.model, stop_reason=message.stop_reason, output_final=output_final
        )
    if usage.prompt_tokens is not None and usage.input_tokens is None:
        raise BadRow("other provider", "usage.prompt_tokens includes cached tokens; input_tokens is expected")
    return MessagesReply(
        id=message.id,
        model=message.model,
        stop_reason=message.stop_reason,
        usage=usage_of(usage),
        iterations=tuple(usage_of(iteration) for iteration in usage.iterations or ()),
        diagnosis=diagnosis_of(message.diagnostics),
        service_tier=usage.service_tier,
        speed=usage.speed,
        region=usage.inference_geo,
        output_final=output_final,
    )
