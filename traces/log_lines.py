"""Lines of a file, in bounded memory, whatever the file holds.

JSONL logs are read in blocks of whole lines. A line longer than the limit is not kept: it is reported and passed over
without being held in memory. Nothing here decodes anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple, cast

BLOCK_BYTES = 4 * 2**20
"""How much is read at a time. A block grows beyond it only to complete a line."""

MAX_LINE_BYTES = 64 * 2**20
"""The longest line that is read; a longer one is passed over and counted."""

MOST_UNPACKED = 512 * 2**20
"""The largest packed file, unpacked, of a log that is looked up by places: it has to be held in memory for that."""

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


class LineChunk(NamedTuple):
    """Whole lines of a file, joined by newlines and without one at the end: the first ``size`` bytes of ``data``.

    What follows in ``data`` belongs to the next block; it is left in place because cutting it off would copy it all.
    ``offset`` is where the first line begins in the file. ``overlong`` marks a single line that was too long to keep
    (``data`` is empty). ``open_end`` is True when the last line is the file's last and has no newline: a program may
    still be writing it. Lines are not numbered here: whoever takes them apart counts them for nothing.
    """

    offset: int
    data: bytes
    size: int
    overlong: bool
    open_end: bool


class Chunk(NamedTuple):
    """The lines of a block one by one, the first of them with its number (from 1). ``overlong`` holds the numbers of
    lines that were too long to keep (they stand as ``b""`` in ``lines``)."""

    first: int
    offset: int
    lines: list[bytes]
    overlong: tuple[int, ...]
    open_end: bool


def open_regular(path: str) -> int:
    """A descriptor on a regular file. A FIFO, a device or a directory raises OSError instead of blocking."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if (os.fstat(descriptor).st_mode & 0o170000) != 0o100000:
            raise OSError(f"not a regular file: {path}")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_log(path: str) -> IO[bytes]:
    """A regular file to read, unpacked where it is packed with gzip or zstd: told by its first bytes, not its name.

    Raises OSError, also while it is read, for one that cannot be read, was cut off or is damaged.
    """
    file = open(open_regular(path), "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        start = file.read(4)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    if not start.startswith((GZIP, ZSTD)):
        return file
    from agentsim.traces.unpacking import UnpackedFile, UnpackedZstd

    return cast(IO[bytes], UnpackedFile(file) if start.startswith(GZIP) else UnpackedZstd(file))


def read_at_most(file: IO[bytes], size: int) -> bytes:
    """The file to its end, or so many bytes of it: one call of a packed one may return less than was asked for."""
    parts: list[bytes] = []
    while size > 0 and (data := file.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def is_packed(path: str) -> bool:
    """Whether a regular file is packed, with gzip or zstd. Raises OSError when it cannot be read."""
    with open(open_regular(path), "rb", buffering=0) as file:
        return file.read(4).startswith((GZIP, ZSTD))


def read_blocks(
    path: str, *, block_bytes: int = BLOCK_BYTES, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[LineChunk]:
    """The lines of a file, block by block.

    A leading byte-order mark is dropped; carriage returns before a newline are left for the decoder, which takes them
    as white space. An empty file yields nothing. Raises OSError for a path that cannot be read or is no regular file.
    """
    with open_log(path) as file:
        offset = 0  # of the first line not yet handed out
        carry: list[bytes] = []  # an unfinished line, in pieces
        carried = 0
        passing = False  # inside a line that is too long
        while data := file.read(block_bytes):
            cut = data.rfind(b"\n")
            if cut < 0:
                carried += len(data)
                if carried > max_line_bytes:
                    carry, passing = [], True
                if not passing:
                    carry.append(data)
                continue
            end_of_first = data.find(b"\n")
            if passing or carried + end_of_first > max_line_bytes:
                yield LineChunk(offset, b"", 0, True, False)
                offset += carried + end_of_first + 1
                body = data[end_of_first + 1 :]
                size = cut - end_of_first - 1
            elif carry:
                body = b"".join((*carry, data))
                size = carried + cut
            else:
                body, size = data, cut
            passing = False
            if size >= 0:
                start = len(BOM) if offset == 0 and body.startswith(BOM) else 0
                yield LineChunk(offset + start, body[start:] if start else body, size - start, False, False)
                offset += size + 1
            tail = data[cut + 1 :]
            carry, carried = ([tail], len(tail)) if tail else ([], 0)
        if passing:
            yield LineChunk(offset, b"", 0, True, True)
        elif carried:
            body = b"".join(carry)
            start = len(BOM) if offset == 0 and body.startswith(BOM) else 0
            if len(body) > start:
                yield LineChunk(offset + start, body[start:], len(body) - start, False, True)


def read_chunks(path: str, *, chunk_bytes: int = BLOCK_BYTES, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Chunk]:
    """As :func:`read_blocks`, with the lines of each block as a list."""
    return chunks_of(read_blocks(path, block_bytes=chunk_bytes, max_line_bytes=max_line_bytes))


def chunks_of(blocks: Iterable[LineChunk], first: int = 1) -> Iterator[Chunk]:
    """Blocks with their lines as a list; ``first`` is the number of the first one."""
    for block in blocks:
        lines = [b""] if block.overlong else block.data[: block.size].split(b"\n")
        yield Chunk(first, block.offset, lines, (first,) if block.overlong else (), block.open_end)
        first += len(lines)
