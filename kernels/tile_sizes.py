"""Tile sizes of the attention kernels, by what they do, head dimension and architecture: data, not logic.

Rows are query heads times tokens, so that a product's tile is full also where a sequence asks for one token. The rows
of a decoding tile are as few as a tensor core takes (16): its time is that of reading K/V. Prompts take as many as
registers hold. Every entry is compiled for its architecture in the tests, which refuse one that spills registers or
asks for more shared memory than there is; ``python -m benchmarks.kernels --tune`` times others where there is a GPU.
"""

from __future__ import annotations

from typing import NamedTuple


class Tile(NamedTuple):
    """One configuration of an attention kernel."""

    rows: int
    """Query heads times tokens that one program holds."""

    keys: int
    """Keys that it reads at a time."""

    warps: int
    stages: int
    """How many tiles' reads overlap, those of page numbers and those of the keys that wait for them counted each."""


Table = dict[int, dict[int, Tile]]
"""Compute capability (major) -> head dimension, rounded up to one that is there -> tile."""

PROMPT: Table = {
    8: {32: Tile(128, 64, 8, 4), 64: Tile(128, 64, 8, 4), 128: Tile(128, 32, 8, 5), 256: Tile(64, 32, 8, 3)},
    9: {32: Tile(128, 128, 8, 4), 64: Tile(128, 128, 8, 4), 128: Tile(128, 64, 8, 3), 256: Tile(128, 32, 8, 2)},
    10: {32: Tile(128, 128, 8, 4), 64: Tile(128, 128, 8, 4), 128: Tile(128, 128, 8, 2), 256: Tile(128, 32, 8, 2)},
}

DECODE: Table = {
    8: {32: Tile(16, 128, 4, 5), 64: Tile(16, 64, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
    9: {32: Tile(16, 128, 4, 5), 64: Tile(16, 128, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
    10: {32: Tile(16, 128, 4, 4), 64: Tile(16, 128, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
}

# Four bits are multiplied out in registers, which leaves fewer for anything else.
INT4_PROMPT: Table = {
    8: {32: Tile(64, 64, 4, 3), 64: Tile(64, 32, 4, 3), 128: Tile(64, 32, 4, 3), 256: Tile(32, 32, 4, 2)},
    9: {32: Tile(64, 64, 4, 3), 64: Tile(64, 64, 4, 3), 128: Tile(64, 32, 4, 3), 256: Tile(64, 32, 8, 2)},
    10: {32: Tile(64, 64, 4, 3), 64: Tile(64, 64, 4, 3), 128: Tile(64, 32, 4, 3), 256: Tile(128, 32, 8, 2)},
}

INT4_DECODE: Table = {
    8: {32: Tile(16, 64, 4, 5), 64: Tile(16, 64, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
    9: {32: Tile(16, 64, 4, 5), 64: Tile(16, 64, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
    10: {32: Tile(16, 64, 4, 5), 64: Tile(16, 64, 4, 5), 128: Tile(16, 64, 4, 5), 256: Tile(16, 32, 4, 5)},
}

# Products in float32 are exact, so no tensor core takes them, and all of a tile's numbers pass through registers.
FLOAT32: Table = {
    8: {32: Tile(16, 16, 4, 3), 64: Tile(16, 16, 8, 3), 128: Tile(16, 16, 4, 3), 256: Tile(16, 16, 8, 2)},
}

PROGRAMS_A_PROCESSOR = 4
"""Programs that each multiprocessor should find to do before a sequence's keys are not split any further."""

LEAST_KEYS_A_SPLIT = 256
"""Fewer than these are not worth a program and its share of combining."""

MOST_SPLITS = 64
"""What :func:`agentsim.kernels.page_attention_triton.combine` can put together: a power of two."""


def padded(size: int) -> int:
    """The next power of two, at least 16: sides of a tile are powers of two, and a tensor core takes no fewer."""
    return max(16, 1 << (size - 1).bit_length())


def tile(table: Table, capability: int, size: int) -> Tile:
    """The entry for a head dimension, of the newest architecture in the table that is not newer than the device's.

    Raises ValueError for heads larger than any in the table.
    """
    major = max((known for known in table if known <= capability), default=min(table))
    for largest, found in sorted(table[major].items()):
        if size <= largest:
            return found
    raise ValueError(f"heads of {size} numbers are too large: {max(table[major])} is the most there are tiles for")


def keys_of_a_block(most_keys: int, tokens: int, window: int | None) -> int:
    """The most keys that a block of so many tokens looks at: all, or those of its tokens' windows together."""
    return most_keys if window is None else min(most_keys, window + tokens - 1)


def splits_for(programs: int, most_keys: int, processors: int) -> int:
    """Into how many parts each sequence's keys are split, from figures that need no look at the device's memory.

    ``programs`` there are without splitting; ``most_keys`` is what the block tables have room for, or a window.
    """
    wanted = -(-processors * PROGRAMS_A_PROCESSOR // max(1, programs))
    worth = most_keys // LEAST_KEYS_A_SPLIT
    return max(1, min(wanted, worth, MOST_SPLITS))
