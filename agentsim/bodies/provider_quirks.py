"""Text that a provider leaves out of its cache key although it stands in the prompt."""

from __future__ import annotations

import re
from functools import cache

_HEADER = "x-anthropic-billing-header:"
"""How the first system block of one coding agent begins that serves accounting alone: the agent's version with a suffix
that depends on the first prompt of the conversation, where it runs, and in some versions a hash of each request."""

_CLIENT_HASH = re.compile(r"\bcch=[0-9A-Za-z]+(?=;|\s|$)")
"""That hash, where the block holds other text too."""


def ignored_by_provider(provider: str, text: str) -> str:
    """The text of the first system block as the provider's cache sees it: without the parts that it ignores.

    Which provider ignores them is a dated rule (``billing_header``); the text comes back unchanged elsewhere.
    """
    is_header = text.startswith(_HEADER)
    if not is_header and "cch=" not in text[:512]:
        return text
    if not _leaves_out(provider):
        return text
    line, rest = (text[:512], text[512:]) if not is_header else ("", text.partition("\n")[2])
    return _HEADER + rest if is_header else _CLIENT_HASH.sub("cch=", line) + rest


@cache
def _leaves_out(provider: str) -> bool:
    from agentsim.rules.providers import rules_for

    try:
        return rules_for(provider, "", None).billing_header == "left_out"
    except ValueError:
        return False
