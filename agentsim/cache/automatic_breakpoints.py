"""Breakpoints that a provider sets unasked, and which of a conversation's breakpoints it looks up.

Such a provider puts a breakpoint behind the newest message of a user or a tool, unless the request declines it. When it
reads, it goes by breakpoints and not by blocks: those that the request itself carries, and those that it had set
unasked behind earlier messages. What was never marked is not looked up, however much of it is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from agentsim.core.lifetimes import seconds_of
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import ProviderRules

MODE = "prompt_cache_mode"
TTL = "prompt_cache_ttl"
"""Settings of a request: whether it declines the breakpoint (``"explicit"``), and the lifetime it asks for."""


def declines(request: Request) -> bool:
    """True when a request wants its own breakpoints only."""
    return _setting(request, MODE) == "explicit"


def with_unasked(request: Request, given: Sequence[Breakpoint], rules: ProviderRules) -> tuple[Breakpoint, ...]:
    """The breakpoints that are written: the latest of those given, in order, and the one that the provider sets.

    One of the ``rules.breakpoints`` is the provider's own, wherever it stands.
    """
    assert request.prompt is not None
    if declines(request):
        return tuple(given[-rules.breakpoints :])
    position = newest_input(request.prompt)
    kept = list(given[len(given) - min(len(given), rules.breakpoints - 1) :])
    if position is None or any(marker.position == position for marker in kept):
        return tuple(kept)
    asked = seconds_of(_setting(request, TTL) or "")
    kept.append(Breakpoint(position, rules.ttl_short if asked is None else asked))
    return tuple(sorted(kept, key=lambda marker: marker.position))


def newest_input(prompt: Prompt) -> int | None:
    """The last block of the newest message that a user or a tool sent; ``None`` where there is none."""
    for position in range(len(prompt) - 1, -1, -1):
        if prompt[position].section != "messages":
            return None
        if _is_input(prompt, position):
            return position
    return None


def looked_up(
    prompt: Prompt, marked: Container[int], start: int, rules: ProviderRules, kept: Callable[[int], bool] | None
) -> Iterator[int]:
    """The positions of the breakpoints that a request looks up, the last one first, from ``start`` downwards.

    ``marked`` are those it carries. With ``kept`` those count, too, that the provider set unasked behind earlier
    messages: positions where a message of a user or a tool ends and something was kept, whether it still lives or not.
    """
    by_breakpoint = rules.lookback_counts == "breakpoint"
    left = rules.lookback if by_breakpoint else len(prompt)
    position = start
    while position >= 0 and left > 0:
        if position in marked or (
            by_breakpoint
            and kept is not None
            and kept(position)
            and _is_input(prompt, position)
            and _ends_message(prompt, position)
        ):
            yield position
            left -= 1
        position -= 1


def is_set_unasked(prompt: Prompt, position: int) -> bool:
    """True where the provider sets a breakpoint itself, in a prompt that ends there."""
    return _is_input(prompt, position) and _ends_message(prompt, position)


def _is_input(prompt: Prompt, position: int) -> bool:
    block = prompt[position]
    return block.section == "messages" and block.role in ("user", "tool", "function")


def _ends_message(prompt: Prompt, position: int) -> bool:
    if position + 1 >= len(prompt):
        return True
    block, after = prompt[position], prompt[position + 1]
    return block.message is None or after.message != block.message or after.role != block.role


def _setting(request: Request, name: str) -> str | None:
    value = next((value for known, value in request.settings if known == name), None)
    return None if value is None else value.strip('"')
