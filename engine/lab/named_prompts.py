"""Prompts of named parts, for the modeled providers that stand beside measurements."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request

DAY = 1_790_000_000 * SECOND
"""A time in September 2026, nanoseconds."""


def prompt_of(parts: Iterable[tuple[str, int]], breakpoints: Iterable[int] = (), ttl: int = 300) -> Prompt:
    """Text blocks, each a name (equal names are equal content) and its tokens; breakpoints at block numbers from 0."""
    blocks = [
        Block(
            section="messages",
            kind="text",
            role="user",
            digest=blake2b(name.encode(), digest_size=16).digest(),
            tokens=tokens,
            origin="measured",
        )
        for name, tokens in parts
    ]
    return Prompt.of(blocks, [Breakpoint(position, ttl) for position in breakpoints])


def request_of(
    name: str, prompt: Prompt, *, provider: str, model: str, start: int, first_token: int | None = None
) -> Request:
    """A request of a lane of its own."""
    return Request(
        id=name, lane=name, model=model, provider=provider, start=start, first_token=first_token, prompt=prompt
    )
