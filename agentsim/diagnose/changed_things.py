"""What came, went or was cleared where two prompts part: tools of one server, an image, a result, thinking."""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentsim.core.additions import server_of
from agentsim.core.prompt import Block, Prompt
from agentsim.core.verdict import Divergence

Thing = Literal["image", "document", "thinking", "tool result", "message"]

_THINKING = ("thinking", "redacted_thinking")
_IMAGES = ('"type":"image"', '"type":"image_url"', '"type":"input_image"')
_MOST_NAMES = 5


class ChangedTools(NamedTuple):
    """Tools by name that only the newer prompt has, or only the older one. ``server``: all of them are its tools."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    server: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.went, *self.came)


class ClearedThing(NamedTuple):
    """What was cleared or left out of a history, and how many of its kind stand behind it and are still there."""

    thing: Thing
    left: int


def changed_tools(old: Prompt, new: Prompt) -> ChangedTools:
    """Which tools came and which went between two prompts."""
    before, after = _tool_names(old), _tool_names(new)
    came = tuple(name for name in after if name not in before)
    went = tuple(name for name in before if name not in after)
    servers = {server_of(name) for name in (*came, *went)}
    return ChangedTools(came, went, servers.pop() if len(servers) == 1 else None)


def cleared_thing(place: Divergence, old: Prompt, new: Prompt) -> ClearedThing | None:
    """What was cleared at the place where two prompts part; ``None`` where nothing was."""
    at = place.block
    if at is None or place.section != "messages" or place.change not in ("cleared", "removed", "truncated"):
        return None
    after = new[at] if at < len(new) and place.change != "removed" else None
    thing = _thing(old[at], after)
    return ClearedThing(thing, sum(_holds(new[position], thing) for position in range(at + 1, len(new))))


def words_of_change(place: Divergence | None, old: Prompt, new: Prompt) -> tuple[tuple[str, ...], str | None]:
    """What is to be said of a change beyond its place, and a fix for it where it has one of its own."""
    if place is None:
        return (), None
    if place.section == "tools" and place.change in ("inserted", "removed"):
        tools = changed_tools(old, new)
        if tools.came and tools.went:
            return (), None
        return ((_tools_sentence(tools),) if len(tools.names) > 1 else ()), None
    cleared = cleared_thing(place, old, new)
    if cleared is None:
        return (), None
    if cleared.thing == "thinking":
        count = _gone(old, new)
        blocks = "a block" if count == 1 else f"{count} blocks"
        sentence = f"The harness left out thinking that it had sent before: {blocks} of earlier turns."
        return (sentence,), "Keep the thinking blocks of earlier turns in the history, each where it was sent first."
    if cleared.thing in ("image", "document") and cleared.left:
        newest = f"the newest {cleared.left} are still sent" if cleared.left > 1 else "the newest is still sent"
        return (f"An older {cleared.thing} was taken out; {newest}.",), None
    return (), None


def _tools_sentence(tools: ChangedTools) -> str:
    names = tools.names
    prefix = f"mcp__{tools.server}__"
    shown = [name.removeprefix(prefix) if tools.server else name for name in names[:_MOST_NAMES]]
    listed = ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
    whose = f" of the MCP server {tools.server}" if tools.server else ""
    return f"{len(names)} tools{whose} {'went' if tools.went else 'came'} together: {listed}."


def _tool_names(prompt: Prompt) -> dict[str, None]:
    blocks = (prompt[position] for position in range(prompt.section_end("tools")))
    return {block.name: None for block in blocks if block.name is not None}


def _thing(block: Block, after: Block | None) -> Thing:
    if block.kind in _THINKING:
        return "thinking"
    if block.kind in ("image", "document"):
        return block.kind  # type: ignore[return-value]
    if _images(block) > (0 if after is None else _images(after)):
        return "image"
    return "tool result" if block.kind.endswith("_result") else "message"


def _images(block: Block) -> int:
    if block.kind == "image":
        return 1
    text = block.text or "" if block.kind.endswith("_result") else ""
    return sum(text.count(mark) for mark in _IMAGES)


def _holds(block: Block, thing: Thing) -> bool:
    if thing == "image":
        return _images(block) > 0
    if thing == "thinking":
        return block.kind in _THINKING
    if thing == "tool result":
        return block.kind.endswith("_result")
    return block.kind == thing or (thing == "message" and block.part == 0)


def _gone(old: Prompt, new: Prompt) -> int:
    """How many blocks of thinking the newer prompt does not have any more."""
    left = {new[position].digest for position in range(len(new)) if new[position].kind in _THINKING}
    old_ones = (old[position] for position in range(len(old)))
    return sum(block.kind in _THINKING and block.digest not in left for block in old_ones)
