"""Tokens with their identity: what may be reused of them is told by chained digests of full blocks.

A block's digest covers its tokens and the digest before it, so that two blocks have the same digest exactly when all
tokens up to their end are the same, under the same weights, in the same namespace and with the same settings. Digests
are 128 bits of BLAKE2b. That no two different prefixes share one is relied on, not checked: among 2**50 blocks the
chance of a single collision is below 2**-28. Whoever must not meet the blocks of others gets a namespace that they do
not know.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b

DIGEST_SIZE = 16
TOKEN = "I"
"""The type code of token ids: four bytes, unsigned."""

_BYTES = array(TOKEN).itemsize


def root_digest(weights: bytes, namespace: bytes = b"", settings: bytes = b"") -> bytes:
    """The digest before the first block. Each part is written with its length, so that none can pose as another's."""
    parts = (b"agentsim engine 1", weights, namespace, settings)
    digest = blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def block_digest(parent: bytes, block: bytes) -> bytes:
    """The digest of a full block: its tokens as packed 32-bit numbers, after the digest of the block before."""
    return blake2b(parent + block, digest_size=DIGEST_SIZE).digest()


class TokenChain:
    """Tokens that only grow, and a digest for each full block of them. No token is hashed twice. Mutable."""

    __slots__ = ("block", "digests", "root", "tokens")

    def __init__(self, root: bytes, block: int, tokens: Iterable[int] = ()) -> None:
        self.root = root
        self.block = block
        self.tokens = array(TOKEN)
        self.digests: list[bytes] = []
        """Of each full block, in order."""
        self.extend(tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def append(self, token: int) -> None:
        """Add one token."""
        self.tokens.append(token)
        if len(self.tokens) % self.block == 0:
            self._digest()

    def extend(self, tokens: Iterable[int]) -> None:
        """Add tokens. O(number of tokens added)."""
        self.tokens.extend(tokens)
        self._digest()

    def fork(self, length: int) -> TokenChain:
        """Another chain that begins with the first ``length`` tokens. Nothing is hashed again."""
        if not 0 <= length <= len(self.tokens):
            raise ValueError(f"cannot fork {length} of {len(self.tokens)} tokens")
        other = TokenChain(self.root, self.block)
        other.tokens = self.tokens[:length]
        other.digests = self.digests[: length // self.block]
        return other

    def parent(self, index: int) -> bytes:
        """The digest before block ``index``."""
        return self.digests[index - 1] if index else self.root

    def packed(self, index: int) -> bytes:
        """The tokens of a full block as bytes, as they were hashed."""
        return self.tokens[index * self.block : (index + 1) * self.block].tobytes()

    def _digest(self) -> None:
        digests = self.digests
        start = len(digests) * self.block
        full = (len(self.tokens) - start) // self.block
        if not full:
            return
        data = self.tokens[start : start + full * self.block].tobytes()
        step = self.block * _BYTES
        last = digests[-1] if digests else self.root
        for at in range(0, len(data), step):
            last = blake2b(last + data[at : at + step], digest_size=DIGEST_SIZE).digest()
            digests.append(last)
