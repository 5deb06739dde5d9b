"""What the response to a Messages request says: its usage, and what else bears on the bill."""

from __future__ import annotations

import msgspec

from agentsim.session import ProviderDiagnosis, Usage
from traces.records import BadRow, Count, decode


class CacheCreation(msgspec.Struct, gc=False):
    """Written tokens by lifetime."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class Iteration(msgspec.Struct, gc=False):
    """One of the calls behind a response."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None


class SentUsage(msgspec.Struct, gc=False):
    """``usage`` as the provider sends it. ``prompt_tokens`` gives away another provider's convention."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    iterations: list[Iteration] | None = None
    prompt_tokens: Count | None = None


class SentMessage(msgspec.Struct, gc=False):
    """A whole response, or the ``message`` that a stream begins with."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: SentUsage | None = None
    diagnostics: msgspec.Raw = msgspec.Raw(b"")


class Miss(msgspec.Struct, gc=False):
    """The provider's reason for a lost prefix."""

    type: str | None = None
    cache_missed_input_tokens: Count | None = None


class Diagnostics(msgspec.Struct, gc=False):
    """``diagnostics`` when it is an object."""

    cache_miss_reason: Miss | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A response in the vocabulary's terms. ``output_final`` is False for a stream that broke off."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    iterations: tuple[Usage, ...] = ()
    diagnosis: ProviderDiagnosis = ProviderDiagnosis()
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    output_final: bool = True


_message_decoder = msgspec.json.Decoder(SentMessage)
_diagnostics_decoder = msgspec.json.Decoder(Diagnostics)


def read_message(data: bytes | msgspec.Raw) -> Reply:
    """A response that came whole. Raises BadRow for JSON that is none, and for counters that cannot be meant."""
    return reply_of(decode(_message_decoder, data))


def reply_of(message: SentMessage, *, output_final: bool = True) -> Reply:
    """A decoded response. Raises BadRow when the counters contradict each other or are another provider's."""
    usage = message.usage
    if usage is None:
        return Reply(id=message.id, model=message.model, stop_reason=message.stop_reason, output_final=output_final)
    if usage.prompt_tokens is not None and usage.input_tokens is None:
        raise BadRow("other provider", "usage.prompt_tokens includes cached tokens; input_tokens is expected")
    return Reply(
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


def usage_of(sent: SentUsage | Iteration) -> Usage:
    """Counters without overlap. Raises BadRow when the writes by lifetime are more than all writes."""
    total, split = sent.cache_creation_input_tokens, sent.cache_creation
    five = hour = None
    other = total
    if split is not None:
        five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        rest = 0 if total is None else total - (five or 0) - (hour or 0)
        if rest < 0:
            raise BadRow("bad counter", "usage.cache_creation adds up to more than cache_creation_input_tokens")
        other = rest or None
    return Usage(
        fresh=sent.input_tokens,
        write_5m=five,
        write_1h=hour,
        write_other=other,
        read=sent.cache_read_input_tokens,
        output=sent.output_tokens,
    )


def diagnosis_of(raw: msgspec.Raw) -> ProviderDiagnosis:
    """``diagnostics``: absent when nobody asked, ``null`` when no difference was found, else the first one.

    An object without a reason is a comparison that had not finished: not reported.
    """
    data = bytes(raw)
    if not data:
        return ProviderDiagnosis()
    if data == b"null":
        return ProviderDiagnosis(reported=True)
    try:
        miss = decode(_diagnostics_decoder, data).cache_miss_reason
    except BadRow:
        return ProviderDiagnosis()
    if miss is None or miss.type is None:
        return ProviderDiagnosis()
    return ProviderDiagnosis(reported=True, reason=miss.type, missed_tokens=miss.cache_missed_input_tokens)
