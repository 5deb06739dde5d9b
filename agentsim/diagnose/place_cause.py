"""From the place where two prompts part to the code of a cause."""

from __future__ import annotations

from agentsim.bodies.canonical_block import split_text
from agentsim.core.prompt import Block, Prompt
from agentsim.core.verdict import Change, Divergence

_UNKNOWN_PLACE = {"tools": "AS105", "system": "AS112", "messages": "AS130"}
_ANYWHERE: dict[Change, str] = {"whitespace": "AS128", "key_order": "AS129", "shape": "AS127"}
_TOOLS: dict[Change, str] = {"inserted": "AS101", "removed": "AS102", "reordered": "AS103", "truncated": "AS102"}
_REPLACED_BLOCKS = 4
"""A history of at least so many blocks of which nothing is left was rewritten, not edited."""


def cause_of(place: Divergence, old: Prompt, new: Prompt) -> str:
    """The code of the cause for a difference found by :func:`agentsim.diagnose.prompt_diff.first_difference`."""
    if place.section is None:
        return "AS190"
    if place.change is None or place.block is None:
        return _UNKNOWN_PLACE[place.section]
    if place.change in _ANYWHERE:
        return _ANYWHERE[place.change]
    at = place.block
    if _is_output_format(place, old, new):
        return "AS407"
    if place.section == "tools" or _is_server_tool(old, new, at):
        return _TOOLS.get(place.change, "AS104")
    if place.section == "system":
        return "AS111" if place.change == "volatile" else "AS110"
    return _messages(place.change, at, old, new)


def _messages(change: Change, at: int, old: Prompt, new: Prompt) -> str:
    if change == "volatile":
        return "AS126"
    if change == "cleared":
        return "AS122"
    if change == "inserted":
        return "AS124"
    if change == "reordered":
        return "AS125"
    if change == "removed":
        return _removed(at, old, new)
    if _is_rewritten(at, old, new):
        return "AS131"
    if at < len(new) and _lost_its_injection(old[at], new[at], _last_message(old)):
        return "AS123"
    if change == "truncated":
        # A whole block cut short is pruning; blocks that are gone are a history cut off at its front.
        same_block = at < len(new) and old[at].kind == new[at].kind and old[at].message == new[at].message
        return "AS122" if same_block and old[at].kind.endswith("_result") else "AS121"
    return "AS120"


def _removed(at: int, old: Prompt, new: Prompt) -> str:
    end = at
    follower = new[at].digest if at < len(new) else None
    while end < len(old) and old[end].digest != follower:
        end += 1
    gone = [old[position] for position in range(at, end)]
    if gone and all(block.kind in ("thinking", "redacted_thinking") for block in gone):
        return "AS122"
    before = at > 0 and old[at - 1].section == "messages" and old[at - 1].message == old[at].message
    after = end < len(old) and old[end].message == old[end - 1].message
    if (
        old[at].role != "assistant"
        and old[at].kind == "text"
        and (before or after or _last_message(old) == _at(old, at))
    ):
        return "AS123"
    return "AS121"


def _is_output_format(place: Divergence, old: Prompt, new: Prompt) -> bool:
    """The format that an answer must have is rendered behind the tools: it is a parameter, and no tool."""
    prompt = new if place.change == "inserted" else old
    at = place.block
    return at is not None and at < len(prompt) and prompt[at].kind == "options" and prompt[at].section == "tools"


def _is_server_tool(old: Prompt, new: Prompt, at: int) -> bool:
    """Server tools are rendered in the system section, but to their user they are tools."""
    return any(
        at < len(prompt) and prompt[at].section == "system" and prompt[at].kind.startswith("web_")
        for prompt in (old, new)
    )


def _is_rewritten(at: int, old: Prompt, new: Prompt) -> bool:
    """True when a long rest of the old history gave way to something shorter that repeats nothing of it."""
    if len(old) - at < _REPLACED_BLOCKS or new.tokens >= old.tokens:
        return False
    left = {new[position].digest for position in range(at, len(new))}
    return not any(old[position].digest in left for position in range(at, len(old)))


def _lost_its_injection(before: Block, after: Block, last_message: int | None) -> bool:
    """True when the last user message of the old prompt is now what it was without its beginning or its end."""
    if before.text is None or after.text is None or before.message != last_message or before.role != after.role:
        return False
    long, short = split_text(before.text)[0].strip(), split_text(after.text)[0].strip()
    return before.kind == "text" and 0 < len(short) < len(long) and (long.startswith(short) or long.endswith(short))


def _last_message(prompt: Prompt) -> int | None:
    return prompt[len(prompt) - 1].message


def _at(prompt: Prompt, position: int) -> int | None:
    return prompt[position].message
