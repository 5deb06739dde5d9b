"""Prompts of plain text: pieces of equal length, so that texts that begin alike share their first pieces.

How many tokens a text has is not known without the model's tokenizer. Four characters are taken as one token, and every
block says that this is an estimate.
"""

from __future__ import annotations

from hashlib import blake2b

from agentsim.core.prompt import DIGEST_SIZE, Block, Prompt

CHARACTERS_A_TOKEN = 4
BLOCK_TOKENS = 16
"""Tokens of a block; a prefix is shared in whole blocks."""

BLOCK_CHARACTERS = BLOCK_TOKENS * CHARACTERS_A_TOKEN


class TextPrompts:
    """Makes prompts of texts; one that begins like the one before it in its lane shares its front. Mutable."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[str, Prompt]] = {}

    def prompt(self, text: str, lane: str) -> Prompt:
        """The prompt of a text."""
        old, prompt = self._before.get(lane, ("", Prompt.of(())))
        keep = _common(old, text) // BLOCK_CHARACTERS
        made = [
            _block(text[at : at + BLOCK_CHARACTERS])
            for at in range(keep * BLOCK_CHARACTERS, len(text), BLOCK_CHARACTERS)
        ]
        prompt = prompt.replace_after(keep, made)
        self._before[lane] = (text, prompt)
        return prompt


def _block(text: str) -> Block:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()
    tokens = -(-len(text) // CHARACTERS_A_TOKEN)
    return Block(section="messages", kind="text", digest=digest, tokens=tokens, origin="estimated")


def _common(one: str, other: str) -> int:
    """How many leading characters are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
