"""Prompts of serving traces: blocks whose content is not known, only which of them are the same.

A block holds a fixed number of tokens, the last one of a prompt as many as are left. Where a trace names whole blocks
only, what is left after them is a block of its own that equals no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from agentsim.core.prompt import DIGEST_SIZE, Block, Prompt
from agentsim.traces.block_rows import checked


class _Holder:
    """A prompt that a block stands in, with the prompt's blocks."""

    __slots__ = ("ids", "prompt")

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids
        self.prompt: Prompt


class BlockPrompts:
    """Makes prompts of block identities; those that begin alike share what they can. Mutable."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._whole: dict[int, tuple[Block, _Holder]] = {}
        self._parts: dict[tuple[int, int], Block] = {}
        self._tails = 0

    def prompt(self, ids: Sequence[int], total: int) -> Prompt:
        """The prompt of these blocks, ``total`` tokens long. Its front is shared with an earlier one that begins so.

        Raises BadRow when the blocks hold more tokens, or a whole block less, than there are.
        """
        checked(ids, total, self.size)
        whole = len(ids) * self.size
        size = self.size
        last = total - (len(ids) - 1) * size if total <= whole else size
        prompt, keep = self._alike(ids)
        holder = _Holder(ids)
        known = self._whole
        blocks: list[Block] = []
        for id in ids[keep:-1]:
            entry = known.get(id)
            block = _made(b"%d/%d" % (id, size), size) if entry is None else entry[0]
            known[id] = block, holder
            blocks.append(block)
        if ids:
            blocks.append(self._last(ids[-1], last))
        if total > whole:
            self._tails += 1
            blocks.append(_made(b"tail %d" % self._tails, total - whole))
        holder.prompt = prompt.replace_after(keep, blocks)
        return holder.prompt

    def _alike(self, ids: Sequence[int]) -> tuple[Prompt, int]:
        """An earlier prompt, and how many whole blocks these begin with that it begins with too."""
        known = self._whole
        at = len(ids) - 2  # the last block may be a part of one
        while at >= 0 and ids[at] not in known:
            at -= 1
        if at < 0:
            return Prompt.of(()), 0
        holder = known[ids[at]][1]
        return holder.prompt, _common(holder.ids, ids, min(at + 1, len(holder.ids) - 1))

    @staticmethod
    def unknown(name: str, tokens: int) -> tuple[Block, ...]:
        """A block of which only the length is known; it equals none of another name."""
        return (_made(name.encode(), tokens),)

    def _last(self, id: int, tokens: int) -> Block:
        """The block at the end of a prompt, which may be a part of one."""
        entry = self._whole.get(id) if tokens == self.size else None
        if entry is not None:
            return entry[0]
        block = self._parts.get((id, tokens))
        if block is None:
            block = self._parts[id, tokens] = _made(b"%d/%d" % (id, tokens), tokens)
        return block


def _common(one: Sequence[int], other: Sequence[int], limit: int) -> int:
    """How many of the first ``limit`` are the same in both."""
    low, high = 0, limit
    middle = limit
    while low < high:
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return low


def _made(name: bytes, tokens: int) -> Block:
    digest = blake2b(name, digest_size=DIGEST_SIZE).digest()
    return Block(section="messages", kind="kv_block", digest=digest, tokens=tokens, origin="measured")
