"""Prompts that share their prefixes.

A :class:`Prompt` is an immutable sequence of blocks. Growing one by k blocks costs O(k) time and memory whatever came
before, because a prompt is only a view (a length) on a :class:`_Segment` that it shares with the prompts it grew from.
Each position carries a chained digest: two prompts have the same digest at a position exactly when all blocks up to it
have the same content. Breakpoints live on the prompt and not on its blocks, so that moving one changes no block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

import msgspec

Section = Literal["tools", "system", "messages"]
"""A prompt is rendered in this order: tools, then system, then messages."""

CountOrigin = Literal["measured", "apportioned", "estimated"]
"""Where a token count comes from: reported by the provider for exactly this span; an estimate scaled so that it adds up
to a reported total; or an estimate alone."""

Shape = Literal["string", "list"]
"""How a message wrote its content: as one string, or as a list of blocks. The text may be the same."""

DIGEST_SIZE = 16
ROOT_DIGEST = bytes(DIGEST_SIZE)
"""The chained digest before the first block."""

_FLATTEN_DEPTH = 32


class Block(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One content block of a prompt.

    ``digest`` is 16 bytes of the block's canonical bytes. ``text`` is those canonical bytes as text, kept only where
    content may be kept: no analysis needs it but the naming of the first differing character. ``message`` is the index
    of the message it belongs to (of the tool or system block in the other sections), ``part`` its index there.
    """

    section: Section
    kind: str
    digest: bytes
    role: str | None = None
    tokens: int | None = None
    origin: CountOrigin = "estimated"
    name: str | None = None
    message: int | None = None
    part: int | None = None
    shape: Shape | None = None
    text: str | None = None


class Breakpoint(msgspec.Struct, frozen=True, gc=False):
    """A cache marker: the prefix that ends with block ``position`` (from 0) is to be kept for ``ttl`` seconds."""

    position: int
    ttl: int


_ORDER: dict[Section, int] = {"tools": 0, "system": 1, "messages": 2}


class _Segment:
    """A run of blocks that starts at ``start`` on top of a parent segment. Append-only."""

    __slots__ = ("blocks", "chain", "depth", "parent", "start", "tokens")

    def __init__(self, parent: _Segment | None, start: int) -> None:
        self.parent = parent
        self.start = start
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.blocks: list[Block] = []
        self.chain: list[bytes] = []
        self.tokens: list[int] = []


class Prompt:
    """An immutable sequence of blocks with its breakpoints. Build one with :meth:`of` or :meth:`extend`."""

    __slots__ = ("_length", "_segment", "_system_end", "breakpoints")

    breakpoints: tuple[Breakpoint, ...]

    def __init__(self, segment: _Segment, length: int, breakpoints: tuple[Breakpoint, ...]) -> None:
        self._segment = segment
        self._length = length
        self._system_end = -1
        self.breakpoints = breakpoints

    @classmethod
    def of(cls, blocks: Iterable[Block], breakpoints: Iterable[Breakpoint] = ()) -> Prompt:
        """A prompt that grew from nothing."""
        return cls(_Segment(None, 0), 0, ()).extend(blocks, breakpoints)

    def extend(self, blocks: Iterable[Block], breakpoints: Iterable[Breakpoint] = ()) -> Prompt:
        """This prompt with blocks appended, and with exactly the breakpoints given. O(number of blocks appended)."""
        return self.replace_after(self._length, blocks, breakpoints)

    def replace_after(self, keep: int, blocks: Iterable[Block], breakpoints: Iterable[Breakpoint] = ()) -> Prompt:
        """The first ``keep`` blocks of this prompt, then other ones. The kept blocks are shared, not copied.

        Raises ValueError when ``keep`` is not between 0 and the length, or a breakpoint lies outside the result.
        """
        if not 0 <= keep <= self._length:
            raise ValueError(f"cannot keep {keep} of {self._length} blocks")
        segment = self._segment
        while segment.parent is not None and keep <= segment.start:
            segment = segment.parent
        if segment.start + len(segment.blocks) != keep:
            segment = _Segment(segment, keep)
            if segment.depth > _FLATTEN_DEPTH:
                segment = _flatten(segment)
        digest = segment.chain[-1] if segment.chain else self.chain(keep)
        total = segment.tokens[-1] if segment.tokens else self.tokens_until(keep)
        for block in blocks:
            digest = blake2b(digest + block.digest, digest_size=DIGEST_SIZE).digest()
            total += block.tokens or 0
            segment.blocks.append(block)
            segment.chain.append(digest)
            segment.tokens.append(total)
        length = segment.start + len(segment.blocks)
        return Prompt(segment, length, _inside(breakpoints, length))

    def front(self, length: int, breakpoints: Iterable[Breakpoint] = ()) -> Prompt:
        """The first ``length`` blocks of this prompt, with exactly the breakpoints given. O(1), nothing is made.

        Raises ValueError when there are fewer blocks, or a breakpoint lies outside the result.
        """
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot keep {length} of {self._length} blocks")
        segment = self._segment
        while segment.parent is not None and length <= segment.start:
            segment = segment.parent
        return Prompt(segment, length, _inside(breakpoints, length))

    def with_breakpoints(self, breakpoints: Iterable[Breakpoint]) -> Prompt:
        """The same blocks with other breakpoints."""
        return Prompt(self._segment, self._length, _inside(breakpoints, self._length))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, position: int) -> Block:
        if not 0 <= position < self._length:
            raise IndexError(position)
        segment = self._segment_at(position)
        return segment.blocks[position - segment.start]

    def __iter__(self) -> Iterator[Block]:
        for segment, stop in self._runs():
            yield from segment.blocks[: stop - segment.start]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prompt):
            return NotImplemented
        return self._length == other._length and self.digest == other.digest and self.breakpoints == other.breakpoints

    def __hash__(self) -> int:
        return hash((self.digest, self.breakpoints))

    def __repr__(self) -> str:
        return f"<Prompt {self._length} blocks, {self.tokens} tokens, {self.digest.hex()[:8]}>"

    @property
    def tokens(self) -> int:
        """Tokens of all blocks; a block of unknown size counts nothing."""
        return self.tokens_until(self._length)

    @property
    def digest(self) -> bytes:
        """The chained digest over the whole prompt."""
        return self.chain(self._length)

    def chain(self, length: int) -> bytes:
        """The chained digest of the first ``length`` blocks."""
        if length == 0:
            return ROOT_DIGEST
        segment, position = self._segment, length - 1
        while segment.start > position:  # as _segment_at, without the call: nothing is asked for more often
            segment = segment.parent  # type: ignore[assignment]
        return segment.chain[position - segment.start]

    def tokens_until(self, length: int) -> int:
        """Tokens of the first ``length`` blocks."""
        if length == 0:
            return 0
        segment, position = self._segment, length - 1
        while segment.start > position:
            segment = segment.parent  # type: ignore[assignment]
        return segment.tokens[position - segment.start]

    def common_length(self, other: Prompt) -> int:
        """How many leading blocks have the same content in both. O(log n) digest comparisons."""
        low, high = 0, min(self._length, other._length)
        while low < high:
            middle = (low + high + 1) // 2
            if self.chain(middle) == other.chain(middle):
                low = middle
            else:
                high = middle - 1
        return low

    def equal_length(self, other: Prompt) -> int:
        """How many leading blocks are equal in all their fields: equal content may stand elsewhere, or be counted
        differently. Blocks that one prompt shares with the other are not looked at."""
        count, limit = self._shared_length(other), self.common_length(other)
        while count < limit and self[count] == other[count]:
            count += 1
        return count

    def _shared_length(self, other: Prompt) -> int:
        shared = 0
        for (mine, my_stop), (others, other_stop) in zip(self._runs(), other._runs(), strict=False):
            if mine is not others:
                break
            shared = min(my_stop, other_stop)
            if my_stop != other_stop:
                break
        return shared

    def section_end(self, section: Section) -> int:
        """How many blocks belong to this section or to the ones rendered before it."""
        if section == "system" and self._system_end >= 0:
            return self._system_end
        last = _ORDER[section]
        low, high = 0, self._length
        while low < high:
            middle = (low + high) // 2
            if _ORDER[self[middle].section] <= last:
                low = middle + 1
            else:
                high = middle
        if section == "system":  # where the conversation begins is asked for again and again
            self._system_end = low
        return low

    def _segment_at(self, position: int) -> _Segment:
        segment = self._segment
        while segment.start > position:
            assert segment.parent is not None
            segment = segment.parent
        return segment

    def _runs(self) -> list[tuple[_Segment, int]]:
        runs: list[tuple[_Segment, int]] = []
        segment: _Segment | None = self._segment
        stop = self._length
        while segment is not None:
            runs.append((segment, stop))
            stop = min(stop, segment.start)
            segment = segment.parent
        return runs[::-1]


def _inside(breakpoints: Iterable[Breakpoint], length: int) -> tuple[Breakpoint, ...]:
    """The breakpoints of a prompt of so many blocks. Raises ValueError for one that lies outside of it."""
    markers = tuple(breakpoints)
    for marker in markers:
        if not 0 <= marker.position < length:
            raise ValueError(f"breakpoint at block {marker.position} of a prompt of {length} blocks")
    return markers


def _flatten(segment: _Segment) -> _Segment:
    """A segment without parents that holds the same blocks, so that looking up a position stays short."""
    flat = _Segment(None, 0)
    parts: list[_Segment] = []
    walk: _Segment | None = segment
    while walk is not None:
        parts.append(walk)
        walk = walk.parent
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        stop = parts[index - 1].start if index else part.start + len(part.blocks)
        count = stop - part.start
        flat.blocks += part.blocks[:count]
        flat.chain += part.chain[:count]
        flat.tokens += part.tokens[:count]
    return flat
