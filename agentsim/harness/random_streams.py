"""Random numbers by name: the same seed and name give the same numbers, in any process and on any platform.

A stream is a counter and a key; the key comes from the seed and the stream's name. Streams of different names are
independent, so that a mechanism that draws more numbers changes none of those that the task draws.
"""

from __future__ import annotations

from hashlib import blake2b

BITS = 32
"""Bits in one draw."""

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: successive counters differ in about half of their bits


class Stream:
    """An endless sequence of numbers. Mutable: each draw moves it on."""

    __slots__ = ("_counter",)

    def __init__(self, seed: int, name: str) -> None:
        key = blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest()
        self._counter = int.from_bytes(key, "big")

    def bits(self) -> int:
        """The next whole number from 0 to 2**32 - 1 (the mixing function of splitmix64)."""
        self._counter = z = (self._counter + _STEP) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) >> 32

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit - 1`` (``limit`` up to 2**32; the bias is below ``limit`` / 2**32)."""
        return (self.bits() * limit) >> BITS

    def happens(self, millionths: int) -> bool:
        """True with a probability given in millionths."""
        return millionths > 0 and self.bits() * 1_000_000 < millionths << BITS


class Streams:
    """The streams of one run."""

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, name: str) -> Stream:
        """The stream of that name, from its start; whoever asks keeps it."""
        return Stream(self.seed, name)
