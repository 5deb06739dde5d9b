"""Text that a provider leaves out of its cache key although it stands in the prompt."""

from __future__ import annotations

import re

_CLIENT_HASH = re.compile(r"\bcch=[0-9A-Za-z]+(?=;|\s|$)")
"""A hash that one coding agent puts in the first system block for accounting. It changes with every request."""

_IGNORED: dict[str, re.Pattern[str]] = {"anthropic": _CLIENT_HASH}
"""Per provider, what it drops from the first system block. Observed, not documented: sessions that carry the changing
hash keep reading their cache at Anthropic, while every server that matches plain prefixes breaks at it."""


def ignored_by_provider(provider: str, text: str) -> str:
    """The text of the first system block as the provider's cache sees it: without the parts that it ignores.

    The text comes back unchanged where the provider is not known to ignore anything.
    """
    pattern = _IGNORED.get(provider)
    if pattern is None or "cch=" not in text[:512]:
        return text
    return pattern.sub("cch=", text[:512]) + text[512:]
