"""Usage and diagnostics as the Messages API sends them, in logs and captures alike, and what they mean."""

from __future__ import annotations

import msgspec

from agentsim.core.session import ProviderDiagnosis, Usage
from agentsim.core.strict_decoding import BadRow, Count

ABSENT = msgspec.Raw(b"")
"""Stands for a raw field that a row does not have."""


class CacheCreation(msgspec.Struct, frozen=True, gc=False):
    """The breakdown of written tokens by lifetime."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class Iteration(msgspec.Struct, frozen=True, gc=False):
    """One of the calls behind a response, with counters of its own."""

    type: str | None = None
    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None


class SentUsage(msgspec.Struct, frozen=True, gc=False):
    """``usage`` of a message."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    iterations: list[Iteration] | None = None


class Miss(msgspec.Struct, gc=False):
    """The provider's reason for a lost prefix."""

    type: str | None = None
    cache_missed_input_tokens: Count | None = None


class Diagnostics(msgspec.Struct, gc=False):
    """``diagnostics`` when it is an object."""

    cache_miss_reason: Miss | None = None


_decode_diagnostics = msgspec.json.Decoder(Diagnostics).decode


def is_contradictory(sent: SentUsage | Iteration) -> bool:
    """Whether the writes by lifetime are more than all writes: the breakdown is a part of the total, not beside it."""
    total, split = sent.cache_creation_input_tokens, sent.cache_creation
    if total is None or split is None:
        return False
    return (split.ephemeral_5m_input_tokens or 0) + (split.ephemeral_1h_input_tokens or 0) > total


def usage_of(sent: SentUsage | Iteration) -> Usage:
    """Counters without overlap. Raises BadRow when they contradict each other (:func:`is_contradictory`)."""
    if is_contradictory(sent):
        raise BadRow("bad counter", "usage.cache_creation adds up to more than cache_creation_input_tokens")
    total, split = sent.cache_creation_input_tokens, sent.cache_creation
    five = hour = None
    other = total
    if split is not None:
        five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        other = (0 if total is None else total - (five or 0) - (hour or 0)) or None
    return Usage(
        fresh=sent.input_tokens,
        write_short=five,
        write_long=hour,
        write_other=other,
        read=sent.cache_read_input_tokens,
        output=sent.output_tokens,
    )


def diagnosis_of(raw: bytes | msgspec.Raw) -> ProviderDiagnosis:
    """``diagnostics``: absent when nobody asked, ``null`` when no difference was found, else the first one.

    An object without a reason is a comparison that had not finished: not reported. So is one that cannot be read.
    """
    data = bytes(raw)
    if not data:
        return ProviderDiagnosis()
    if data == b"null":
        return ProviderDiagnosis(reported=True)
    try:
        miss = _decode_diagnostics(data).cache_miss_reason
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ProviderDiagnosis()
    if miss is None or miss.type is None:
        return ProviderDiagnosis()
    return ProviderDiagnosis(reported=True, reason=miss.type, missed_tokens=miss.cache_missed_input_tokens)
