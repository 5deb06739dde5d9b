"""Prompts of serving traces: blocks whose content is not known, only which of them are the same.

A block holds a fixed number of tokens, the last one of a prompt as many as are left. Where a trace names whole blocks
only, what is left after them is a block of its own that equals no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from agentsim.prompt import DIGEST_SIZE, Block, Prompt
from traces.block_rows import checked


class BlockPrompts:
    """Makes prompts of block identities; those that begin alike share what they can. Mutable."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._blocks: dict[tuple[int, int], Block] = {}
        self._tails = 0

    def prompt(self, ids: Sequence[int], total: int, before: tuple[Sequence[int], Prompt] | None = None) -> Prompt:
        """The prompt of these blocks, ``total`` tokens long. ``before`` is one that may begin alike, with its ids.

        Raises BadRow when the blocks hold more tokens, or a whole block less, than there are.
        """
        checked(ids, total, self.size)
        whole = len(ids) * self.size
        sizes = self.size
        last = total - (len(ids) - 1) * sizes if total <= whole else sizes
        keep = 0
        if before is not None:
            old, prompt = before
            limit = min(len(old), len(ids), len(prompt)) - 1  # the last block may be a part of one
            while keep < limit and old[keep] == ids[keep]:
                keep += 1
        else:
            prompt = Prompt.of(())
        blocks = [self._block(id, sizes) for id in ids[keep:-1]]
        if ids:
            blocks.append(self._block(ids[-1], last))
        if total > whole:
            self._tails += 1
            blocks.append(_made(b"tail %d" % self._tails, total - whole))
        return prompt.replace_after(keep, blocks)

    @staticmethod
    def unknown(name: str, tokens: int) -> tuple[Block, ...]:
        """A block of which only the length is known; it equals none of another name."""
        return (_made(name.encode(), tokens),)

    def _block(self, id: int, tokens: int) -> Block:
        block = self._blocks.get((id, tokens))
        if block is None:
            block = self._blocks[id, tokens] = _made(b"%d/%d" % (id, tokens), tokens)
        return block


def _made(name: bytes, tokens: int) -> Block:
    digest = blake2b(name, digest_size=DIGEST_SIZE).digest()
    return Block(section="messages", kind="kv_block", digest=digest, tokens=tokens, origin="measured")
