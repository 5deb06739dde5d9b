"""Lines of a file, in bounded memory, whatever the file holds.

JSONL logs are read in chunks of whole lines. A line longer than the limit is not kept: it is reported and passed over
without being held in memory. Nothing here decodes anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

CHUNK_BYTES = 16 * 2**20
"""How much is read at a time. A chunk grows beyond it only to complete a line."""

MAX_LINE_BYTES = 64 * 2**20
"""The longest line that is read; a longer one is passed over and counted."""

BOM = b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Whole lines of a file. ``lines`` have no newline at their end; ``first`` is the number of the first (from 1)
    and ``offset`` where it begins in the file. ``overlong`` holds the numbers of lines that were too long to keep
    (they stand as ``b""`` in ``lines``). ``open_end`` is True when the last line of this chunk is the file's last and
    has no newline: a program may still be writing it."""

    first: int
    offset: int
    lines: list[bytes]
    overlong: tuple[int, ...]
    open_end: bool


def read_chunks(
    path: str, *, chunk_bytes: int = CHUNK_BYTES, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Chunk]:
    """The lines of a file, chunk by chunk.

    A leading byte-order mark is dropped; carriage returns before a newline are left for the decoder, which takes them
    as white space. An empty file yields nothing. A path that is not a regular file (a FIFO, a device, a directory)
    raises OSError instead of blocking.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not _is_regular(status.st_mode):
            raise OSError(f"not a regular file: {path}")
        number, offset, carry, carried = 1, 0, [], 0
        skipping = False
        while True:
            data = file.read(chunk_bytes)
            if not data:
                break
            cut = data.rfind(b"\n")
            if cut < 0:
                if skipping:
                    continue
                carry.append(data)
                carried += len(data)
                if carried > max_line_bytes:
                    carry, carried, skipping = [], 0, True
                continue
            tail = data[cut + 1 :]
            body = data[:cut]
            begin = offset
            overlong: list[int] = []
            if skipping:
                cut_first = body.find(b"\n")
                rest = body[cut_first + 1 :] if cut_first >= 0 else None
                lines = [b""] + (rest.split(b"\n") if rest is not None else [])
                overlong.append(number)
                skipping = False
            else:
                if carry:
                    body = b"".join((*carry, body))
                lines = body.split(b"\n")
            if number == 1 and lines[0].startswith(BOM):
                lines[0] = lines[0][len(BOM) :]
                begin += len(BOM)
            for index, line in enumerate(lines):
                if len(line) > max_line_bytes:
                    lines[index] = b""
                    overlong.append(number + index)
            yield Chunk(number, begin, lines, tuple(overlong), False)
            number += len(lines)
            offset = file.tell() - len(tail)
            carry, carried = ([tail], len(tail)) if tail else ([], 0)
        if skipping:
            yield Chunk(number, offset, [b""], (number,), True)
        elif carried:
            last = b"".join(carry)
            if number == 1 and last.startswith(BOM):
                last = last[len(BOM) :]
                offset += len(BOM)
            if last:
                yield Chunk(number, offset, [last], (), True)


def _is_regular(mode: int) -> bool:
    return (mode & 0o170000) == 0o100000
