"""``usage`` of OpenAI's APIs: input includes cached tokens, whichever names the two APIs give them."""

from __future__ import annotations

import msgspec

from agentsim.session import Usage
from traces.conventions import input_includes_cached
from traces.records import Count


class Details(msgspec.Struct, gc=False):
    """``prompt_tokens_details`` or ``input_tokens_details``."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class OpenAIUsage(msgspec.Struct, gc=False):
    """``usage`` of Chat Completions (``prompt_tokens``) or of Responses (``input_tokens``)."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: Details | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: Details | None = None


def openai_usage(sent: OpenAIUsage) -> Usage:
    """Counters without overlap. Raises BadRow when more was cached than sent."""
    details = sent.prompt_tokens_details or sent.input_tokens_details or Details()
    return input_includes_cached(
        sent.input_tokens if sent.prompt_tokens is None else sent.prompt_tokens,
        details.cached_tokens,
        details.cache_write_tokens,
        sent.output_tokens if sent.completion_tokens is None else sent.completion_tokens,
    )
