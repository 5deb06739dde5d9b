"""Prompts with other tools, and with blocks inserted into their messages."""

from __future__ import annotations

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.whatif.policies.session_rewriting import Regrown, moved, suffix

Inserted = tuple[int, tuple[Block, ...]]
"""Blocks that come after so many message blocks."""


class InsertedBlocks(msgspec.Struct, frozen=True):
    """How a prompt is changed: ``front`` instead of its tools, and what is inserted, in order.

    With ``behind`` a marker on the block before an insertion moves behind it: that is where the request ended.
    """

    front: tuple[Block, ...]
    inserted: tuple[Inserted, ...]
    behind: bool


def laid_out(
    grown: Regrown, request: Request, layout: InsertedBlocks, parent: Request | None, before: InsertedBlocks | None
) -> Prompt:
    """The prompt of a request under a layout. ``before`` is the one of its parent: what both share is not built again.

    Building the next prompt of a conversation costs what is new in it.
    """
    prompt = request.prompt
    assert prompt is not None
    tools, head = prompt.section_end("tools"), prompt.section_end("system")
    front = len(layout.front)
    start = front + head - tools

    def place(position: int) -> int:
        if position < tools:
            return min(position, front - 1)
        if position < head:
            return front + position - tools
        number = position - head
        last = number + 1 if layout.behind else number
        return start + number + sum(len(blocks) for after, blocks in layout.inserted if after <= last)

    markers = moved(prompt.breakpoints, place)
    if parent is not None and parent.prompt is not None and before is not None and before.front == layout.front:
        shared = parent.prompt.common_length(prompt)
        kept = shared - head
        old = [entry for entry in before.inserted if entry[0] <= kept]
        new = [entry for entry in layout.inserted if entry[0] <= kept]
        extra = new[len(old) :]
        if kept >= 0 and new[: len(old)] == old and all(after == kept for after, _ in extra):
            keep = start + kept + sum(len(blocks) for _, blocks in old)
            blocks = [block for _, inserted in extra for block in inserted]
            blocks += _messages(prompt, head, kept, layout)
            return grown.continued(request, parent, keep, blocks, markers)
    blocks = list(layout.front)
    blocks += [prompt[position] for position in range(tools, head)]
    blocks += [block for after, inserted in layout.inserted if after <= 0 for block in inserted]
    return grown.grow(request, blocks + _messages(prompt, head, 0, layout), markers)


def _messages(prompt: Prompt, head: int, kept: int, layout: InsertedBlocks) -> list[Block]:
    """The message blocks behind the first ``kept`` ones, with what is inserted behind each of them."""
    late: dict[int, list[Block]] = {}
    for after, blocks in layout.inserted:
        if after > kept:
            late.setdefault(after, []).extend(blocks)
    found: list[Block] = []
    for number, block in enumerate(suffix(prompt, head + kept), kept + 1):
        found.append(block)
        found += late.get(number, ())
    return found


def shared_messages(one: Prompt, other: Prompt) -> int:
    """How many leading message blocks two prompts share, whatever stands in front of them."""
    shared = one.common_length(other)
    if shared >= one.section_end("system") and shared >= other.section_end("system"):
        return shared - other.section_end("system")
    first, second = one.section_end("system"), other.section_end("system")
    count, most = 0, min(len(one) - first, len(other) - second)
    while count < most and one[first + count].digest == other[second + count].digest:
        count += 1
    return count
