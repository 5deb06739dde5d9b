"""``usage`` in the shape of OpenAI's APIs, which most servers and gateways speak: input includes cached tokens.

What was read and written has many names, and a row may hold several of them. A counter that one of its names tells is
told, whatever the others leave at 0: gateways fill the names they do not use. Two that are told and differ contradict
each other, and cost their row.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from agentsim.bodies.input_conventions import convention_told, usage_by
from agentsim.bodies.messages_usage import ABSENT, CacheCreation
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow, Count, decode


class CacheWriteCounts(msgspec.Struct, gc=False):
    """``cache_write_tokens_details``: what was written, by its lifetime."""

    ttl_30m_tokens: Count | None = None
    ttl_12h_tokens: Count | None = None


class TokenDetails(msgspec.Struct, gc=False):
    """``prompt_tokens_details`` or ``input_tokens_details``. ``cache_creation_tokens`` and those beside it are what
    gateways and resellers call the same."""

    cached_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cache_creation_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_write_tokens_details: CacheWriteCounts | None = None
    cache_creation_token_details: CacheCreation | None = None


class OpenAIUsage(msgspec.Struct, gc=False):
    """``usage`` of Chat Completions (``prompt_tokens``) or of Responses (``input_tokens``), and the counters that
    servers put beside them: DeepSeek's hits and misses, Moonshot's cached tokens, Anthropic's names at gateways."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: TokenDetails | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: TokenDetails | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    prompt_cache_hit_tokens: Count | None = None
    prompt_cache_miss_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    cost: msgspec.Raw = ABSENT
    """What a gateway says that the request cost, in dollars."""


_usages = msgspec.json.Decoder(OpenAIUsage)
_COUNTERS = tuple(name for name in OpenAIUsage.__struct_fields__ if name != "cost")


def openai_usage(sent: OpenAIUsage) -> Usage:
    """Counters without overlap: the shorter lifetime in ``write_short``, the longer in ``write_long``.

    Raises BadRow when counters contradict each other, or more was cached than sent.
    """
    details = sent.prompt_tokens_details or sent.input_tokens_details or TokenDetails()
    read = one_count("cached tokens", *_told(sent, _READ).values())
    write = one_count("written tokens", *_told(sent, _WRITTEN).values())
    total = one_count("input tokens", sent.prompt_tokens, sent.input_tokens)
    output = one_count("output tokens", sent.completion_tokens, sent.output_tokens)
    missed = sent.prompt_cache_miss_tokens
    if missed is not None:
        if total is not None and total != (read or 0) + missed:
            raise BadRow("bad counter", "hits and misses of the cache are not the input")
        total = (read or 0) + missed if total is None else total
    split, own = details.cache_write_tokens_details, sent.cache_creation or details.cache_creation_token_details
    if own is not None:
        short, long = own.ephemeral_5m_input_tokens, own.ephemeral_1h_input_tokens
        write = max(write or 0, (short or 0) + (long or 0)) if write or short or long else write
    else:
        short, long = (None, None) if split is None else (split.ttl_30m_tokens, split.ttl_12h_tokens)
    # Some gateways keep Anthropic's way of counting under OpenAI's names: only what adds up proves that.
    proved = convention_told(total, read, write, output, sent.total_tokens)
    sure = proved if sent.total_tokens is not None else None
    usage = usage_by(sure or "includes", total, read, write, output)
    if short is None or long is None or short + long != (usage.write_other or 0):
        return usage
    return msgspec.structs.replace(usage, write_short=short, write_long=long, write_other=None)


_READ = (
    ("cached_tokens", "cache_read_tokens", "cache_read_input_tokens"),
    ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"),
)
_WRITTEN = (
    ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"),
    ("cache_creation_input_tokens", "cache_write_input_tokens"),
)
"""The names of one count: those in the details, and those beside them."""


def _told(sent: OpenAIUsage, names: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, int | None]:
    inside, beside = names
    details = sent.prompt_tokens_details or sent.input_tokens_details or TokenDetails()
    where = "prompt_tokens_details" if sent.prompt_tokens_details else "input_tokens_details"
    told = {f"{where}.{name}": getattr(details, name) for name in inside}
    return told | {name: getattr(sent, name) for name in beside}


def contradiction_in(sent: OpenAIUsage) -> str | None:
    """Two names for one count of which one says 0 and the other does not: what is counted, and a word on it."""
    for names in (_READ, _WRITTEN):
        told = {name: count for name, count in _told(sent, names).items() if count is not None}
        silent = [name for name, count in told.items() if not count]
        loud = [name for name, count in told.items() if count]
        if silent and loud:
            return f"{silent[0]} says 0 and {loud[0]} {told[loud[0]]:,}; the second is counted"
    return None


def picodollars(number: bytes | str) -> int | None:
    """An amount in dollars, as JSON writes it, in whole picodollars; ``None`` for what is none or cannot be meant."""
    try:
        value = Decimal(number.decode() if isinstance(number, bytes) else number)
    except (ArithmeticError, UnicodeDecodeError):
        return None
    return round(value.scaleb(12)) if value.is_finite() and 0 <= value < 1000 else None


def logged_picodollars(number: object) -> int | None:
    """What a log says that a request cost, as :func:`picodollars`; ``None`` for 0, which programs write where they know
    no price."""
    if isinstance(number, msgspec.Raw):
        return picodollars(bytes(number)) or None
    if isinstance(number, str):
        return picodollars(number) or None
    return picodollars(repr(number)) or None if type(number) in (int, float) else None


def one_count(name: str, *told: int | None) -> int | None:
    """The counter that several names may tell: the one that is not 0. Raises BadRow where two differ."""
    counts = {count for count in told if count is not None}
    if len(counts) > 1:
        counts.discard(0)
    if len(counts) > 1:
        raise BadRow("bad counter", f"two names for {name} tell different counts")
    return next(iter(counts), None)


def usage_in(places: Iterable[object]) -> Usage:
    """The usage that several objects of a row tell together: each may hold some of the counters. Raises BadRow."""
    found: dict[str, Any] = {}
    for place in places:
        if not isinstance(place, dict):
            continue
        for name in _COUNTERS:
            value = place.get(name)
            if value is None:
                continue
            before = found.get(name)
            if isinstance(before, dict) and isinstance(value, dict):
                found[name] = {**value, **{key: inner for key, inner in before.items() if inner}}
            elif not before:
                found[name] = value
            elif type(before) is int and type(value) is int and value and value != before:
                raise BadRow("bad counter", f"{name} is told twice, and not the same")
    try:
        data = msgspec.json.encode(found)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError, OverflowError):
        raise BadRow("bad field", "usage") from None
    return openai_usage(decode(_usages, data))
