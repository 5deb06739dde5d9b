"""What changes by itself goes behind the last marker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import Regrown, changed, from_outside, made_block, moved, with_parents

Slot = tuple[str, str, int]
"""A place in a lane's prompts whose content changes: lane, section, how many blocks of the section stand before."""


class VolatileLast(Policy, frozen=True, kw_only=True):
    """Blocks that are edited in place between requests move to the end; of a text that is known, only what changes."""

    name: ClassVar[str] = "volatile-last"
    summary: ClassVar[str] = "Move text that changes by itself (a clock, a scratchpad) behind the last marker."
    assumes: ClassVar[str] = "The model uses what stands at the end of its prompt as it used it at the front."
    changes: ClassVar[str | None] = "text that changes stands at the end instead of where it was"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Keep what changes out of CLAUDE.md; hooks can add it to each prompt.",
        "pi": "Add what changes to the user's message, not to the system prompt.",
        "own-code": "Append what changes to the last user message, behind the last cache_control.",
    }
    stage: ClassVar[int] = 20
    needs_bodies: ClassVar[bool] = True

    least: int = 2
    """Changes in place before a block counts as volatile."""

    def unsuited(self, session: Session) -> str | None:
        """Nothing is edited in place."""
        return None if self._slots(session) else "no block is edited in place that often"

    def rewrite(self, session: Session) -> Session:
        """Move the volatile blocks, or their volatile lines, to the end."""
        slots = self._slots(session)
        grown = Regrown()
        requests = []
        for request in session.requests:
            prompt = request.prompt
            if prompt is None or from_outside(request):
                requests.append(request)
                continue
            found = {_position(prompt, slot): stable for slot, stable in slots.items() if slot[0] == request.lane}
            found = {position: stable for position, stable in found.items() if 0 <= position < len(prompt)}
            if not found:
                grown.keep(request)
                requests.append(request)
                continue
            requests.append(changed(request, _rearranged(grown, request, prompt, found)))
        return msgspec.structs.replace(session, requests=tuple(requests))

    def _slots(self, session: Session) -> dict[Slot, tuple[str, str] | None]:
        """Each volatile place, with the text before and behind what changes there (``None``: the whole block does)."""
        counts: dict[Slot, int] = {}
        texts: dict[Slot, list[str] | None] = {}
        for request, parent in with_parents(session):
            if parent is None or parent.prompt is None or request.prompt is None or parent.lane != request.lane:
                continue
            if not self.wants(request):
                continue
            for position in _edited(parent.prompt, request.prompt):
                slot = _slot(request.lane, request.prompt, position)
                counts[slot] = counts.get(slot, 0) + 1
                both = (parent.prompt[position].text, request.prompt[position].text)
                known = texts.setdefault(slot, [])
                if known is None or both[0] is None or both[1] is None:
                    texts[slot] = None
                else:
                    known += [text for text in both if text is not None]
        least = 1 if self.only else self.least
        return {slot: _stable(texts[slot]) for slot, count in counts.items() if count >= least}


def _edited(before: Prompt, after: Prompt) -> Iterator[int]:
    """Positions whose block became another one of the same kind while what follows stayed."""
    position = before.common_length(after)
    most = min(len(before), len(after))
    while position < most:
        one, other = before[position], after[position]
        if one.digest == other.digest:
            position += 1
            continue
        if (one.section, one.role, one.kind) != (other.section, other.role, other.kind) or one.section == "tools":
            return
        follows = position + 1
        if follows >= most or before[follows].digest != after[follows].digest:
            return
        yield position
        position += 2


def _slot(lane: str, prompt: Prompt, position: int) -> Slot:
    section = prompt[position].section
    start = prompt.section_end("tools") if section == "system" else prompt.section_end("system")
    return lane, section, position - start


def _position(prompt: Prompt, slot: Slot) -> int:
    start = prompt.section_end("tools") if slot[1] == "system" else prompt.section_end("system")
    position = start + slot[2]
    return position if position < len(prompt) and prompt[position].section == slot[1] else -1


def _stable(texts: list[str] | None) -> tuple[str, str] | None:
    """What all versions of a text begin and end with, in whole lines; ``None`` when that is nothing."""
    if not texts:
        return None
    front = _common(texts)
    front = front[: front.rfind("\n") + 1]
    rests = [text[len(front) :] for text in texts]
    back = _common([rest[::-1] for rest in rests])[::-1]
    cut = back.find("\n")
    back = back[cut:] if cut >= 0 else ""
    return (front, back) if front or back else None


def _common(texts: list[str]) -> str:
    """What all texts begin with: what the first and the last one in order begin with."""
    first, last = min(texts), max(texts)
    length = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: min(length, len(last))]


def _rearranged(grown: Regrown, request: Request, prompt: Prompt, found: dict[int, tuple[str, str] | None]) -> Prompt:
    blocks: list[Block] = []
    places: list[int] = []
    moving: list[Block] = []
    for position, block in enumerate(prompt):
        stays: Block | None = block
        if position in found:
            stays, moves = _split(block, found[position])
            moving.append(msgspec.structs.replace(moves, section="messages", role="user", message=None, part=None))
        if stays is not None:
            blocks.append(stays)
        places.append(len(blocks) - 1)
    return grown.grow(request, blocks + moving, moved(prompt.breakpoints, places.__getitem__))


def _split(block: Block, stable: tuple[str, str] | None) -> tuple[Block | None, Block]:
    """What of a block stays where it is, and what moves. The parts share its tokens by their characters."""
    text, tokens = block.text, block.tokens or 0
    if stable is None or text is None or not (text.startswith(stable[0]) and text.endswith(stable[1])):
        return None, block
    kept = stable[0] + stable[1]
    if len(kept) >= len(text):
        return block, made_block("nothing", "messages", 0, kind=block.kind)
    share = tokens * len(kept) // len(text)
    stays = made_block("stable part", block.section, share, kept.encode("utf-8", "surrogatepass"), kind=block.kind)
    moves = made_block("volatile part", "messages", tokens - share, block.digest, kind=block.kind)
    volatile = text[len(stable[0]) : len(text) - len(stable[1])]
    stays = msgspec.structs.replace(stays, role=block.role, message=block.message, part=block.part, text=kept)
    return stays, msgspec.structs.replace(moves, text=volatile)
