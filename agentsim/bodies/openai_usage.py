"""``usage`` of OpenAI's APIs: input includes cached tokens, whichever names the two APIs give them."""

from __future__ import annotations

import msgspec

from agentsim.bodies.input_conventions import input_includes_cached
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import Count


class CacheWriteCounts(msgspec.Struct, gc=False):
    """``cache_write_tokens_details``: what was written, by its lifetime."""

    ttl_30m_tokens: Count | None = None
    ttl_12h_tokens: Count | None = None


class TokenDetails(msgspec.Struct, gc=False):
    """``prompt_tokens_details`` or ``input_tokens_details``."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cache_write_tokens_details: CacheWriteCounts | None = None


class OpenAIUsage(msgspec.Struct, gc=False):
    """``usage`` of Chat Completions (``prompt_tokens``) or of Responses (``input_tokens``)."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: TokenDetails | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: TokenDetails | None = None


def openai_usage(sent: OpenAIUsage) -> Usage:
    """Counters without overlap: the shorter lifetime in ``write_5m``, the longer in ``write_1h``, where both are told.

    Raises BadRow when more was cached than sent.
    """
    details = sent.prompt_tokens_details or sent.input_tokens_details or TokenDetails()
    usage = input_includes_cached(
        sent.input_tokens if sent.prompt_tokens is None else sent.prompt_tokens,
        details.cached_tokens,
        details.cache_write_tokens,
        sent.output_tokens if sent.completion_tokens is None else sent.completion_tokens,
    )
    split = details.cache_write_tokens_details
    short, long = (None, None) if split is None else (split.ttl_30m_tokens, split.ttl_12h_tokens)
    if short is None or long is None or short + long != (usage.write_other or 0):
        return usage
    return msgspec.structs.replace(usage, write_5m=short, write_1h=long, write_other=None)
