"""What the counters of a captured call say of its prompt: sizes that add up, and the lifetime of what was written."""

from __future__ import annotations

import msgspec

from agentsim.bodies.api_shapes import OPENAI_APIS, Api
from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.core.tokens import apportion
from agentsim.traces.capture_lanes import CapturedCall, LanedRequest

FIVE_MINUTES = 300
HALF_HOUR = 1800

CLOSING = 8
"""Tokens that may stand behind the last message of an OpenAI prompt, at most: neither read nor written."""


def told_lifetime(api: Api, usage: Usage | None, call: CapturedCall) -> Usage | None:
    """The usage with the lifetime of its writes, where the response does not tell it and one alone was asked for."""
    if usage is None or not usage.write_other or usage.write_short or usage.write_long:
        return usage
    asked = {marker.ttl for marker in call.prompt.breakpoints}
    if api in OPENAI_APIS and not asked:
        asked = {HALF_HOUR}
    if len(asked) != 1:
        return usage
    (ttl,) = asked
    written = usage.write_other
    if ttl == HALF_HOUR and any(name == "prompt_cache_ttl" and value != '"30m"' for name, value in call.settings):
        return usage
    if ttl not in (FIVE_MINUTES, HALF_HOUR):
        return usage
    return msgspec.structs.replace(usage, write_short=written, write_long=0, write_other=None)


def closing(api: Api, usage: Usage | None, prompt: Prompt) -> int:
    """How many of the tokens counted belong to no block: those behind the last message of a user or a tool, which are
    neither read nor written where a breakpoint stands at its end."""
    if api not in OPENAI_APIS or usage is None or not (usage.read or usage.write) or not len(prompt):
        return 0
    fresh = usage.fresh or 0
    return fresh if usage.write and fresh <= CLOSING and prompt[len(prompt) - 1].role != "assistant" else 0


def counted_prompt(prompt: Prompt, usage: Usage | None, before: LanedRequest | None, behind: int = 0) -> Prompt:
    """The prompt with block sizes that add up to what the provider counted. Its front is shared with the one before,
    so that a block keeps its size as long as it is there. ``behind`` of the tokens counted belong to no block."""
    anchors = []
    if before is not None:
        keep = before.call.prompt.equal_length(prompt)
        blocks = (prompt[at] for at in range(keep, len(prompt)))
        if keep:
            prompt = before.prompt.replace_after(keep, blocks, prompt.breakpoints)
        if keep == len(before.prompt):
            anchors.append((keep, before.prompt.tokens))
    total = usage.total_input if usage is not None else None
    total = total - behind if total is not None else None
    return apportion(prompt, total, anchors) if total and len(prompt) else prompt
