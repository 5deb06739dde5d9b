"""A file that is being written, read on from where it ended.

It counts as grown when it is the same file, not shorter, and holds the bytes that it held at several places and in
front of its old end. Whatever else happened to it, it must be read anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from agentsim.traces.log_lines import MAX_LINE_BYTES, LineChunk, is_packed, open_regular, read_blocks

_PROOF = 256
"""Bytes that are compared at each place."""

_PROOFS = 8


class GrowingFile:
    """One file: its whole lines are handed out once, and behind them stands what is begun of the next one.

    ``lines`` is how many were handed out. Raises OSError, here and in all methods, when the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self.lines = 0
        self._path = path
        self._status = os.stat(path)
        self._place = 0  # behind the last whole line
        self._rest = b""
        self._proof: list[bytes] = []
        # Places in a packed file tell nothing about the lines in it.
        self._can_grow = not is_packed(path)

    @property
    def can_grow(self) -> bool:
        """Whether it is worth while to keep what was made of its lines, once they were handed out."""
        return self._can_grow and self._place > 0

    def all_lines(self) -> Iterator[LineChunk]:
        """The whole lines, from the first. To be asked for once."""
        for block in read_blocks(self._path):
            if block.overlong:
                self._can_grow = False
            if block.open_end:
                self._rest = block.data
            else:
                self._place = block.offset + block.size + 1
                self.lines += block.data.count(b"\n", 0, block.size) + 1
                yield block
        if self.can_grow:
            self._proof = self._samples()

    def grow(self, take: Callable[[list[LineChunk], int], object]) -> bool:
        """Hand the whole lines that were appended since to ``take``, with how many stand before them, if there are any.
        False when the file did anything else but grow."""
        before = self.lines
        try:
            blocks = self._more_lines()
        except OSError:
            self._can_grow = False
            raise
        if blocks:
            take(blocks, before)
        return blocks is not None

    def _more_lines(self) -> list[LineChunk] | None:
        before, now = self._status, os.stat(self._path)
        end = self._place + len(self._rest)
        if not self.can_grow or now.st_size < end or (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino):
            return None
        if now.st_size == end:
            # The same size at another time: something was written over.
            return [] if now.st_mtime_ns == before.st_mtime_ns else None
        if now.st_size - self._place > MAX_LINE_BYTES or self._samples() != self._proof:
            return None
        with open(open_regular(self._path), "rb") as file:
            file.seek(self._place)
            data = file.read(now.st_size - self._place)
        size = data.rfind(b"\n")
        blocks = [] if size < 0 else [LineChunk(self._place, data[:size], size, False, False)]
        self._rest = data[size + 1 :]
        self._status = now
        if blocks:
            self.lines += data.count(b"\n")
            self._place += size + 1
            self._proof = self._samples()
        return blocks

    def last_line(self) -> list[LineChunk]:
        """What is begun of a line behind those that were handed out, if anything."""
        return [LineChunk(self._place, self._rest, len(self._rest), False, True)] if self._rest else []

    def _samples(self) -> list[bytes]:
        """Bytes from all over the lines that were handed out."""
        last = max(self._place - _PROOF, 0)
        with open(open_regular(self._path), "rb", buffering=0) as file:
            samples = []
            for part in range(_PROOFS + 1):
                file.seek(last * part // _PROOFS)
                samples.append(file.read(min(_PROOF, self._place)))
            return samples


Read = TypeVar("Read")


class GrowingLogs(Generic[Read]):
    """Logs by their paths, as far as they were read: only what was appended is read the next time.

    ``start`` makes what a path is read into, ``take`` reads chunks of whole lines into it, of a file of which so many
    lines were read before. Mutable; for one thread.
    """

    def __init__(self, start: Callable[[str], Read], take: Callable[[Read, Iterable[LineChunk], int], object]) -> None:
        self._start, self._take = start, take
        self._known: dict[str, tuple[GrowingFile, Read]] = {}

    def log(self, path: str) -> tuple[GrowingFile, Read]:
        """A file as it is now, and its whole lines as they were read. Raises OSError when it cannot be read."""
        if path not in self._known or not self._grow(*self._known[path]):
            file, read = GrowingFile(path), self._start(path)
            self._take(read, file.all_lines(), 0)
            self._known[path] = file, read
        return self._known[path]

    def kept(self, path: str) -> Read | None:
        """What was read of a file, if anything was; the file is left alone."""
        return self._known[path][1] if path in self._known else None

    def _grow(self, file: GrowingFile, read: Read) -> bool:
        return file.grow(lambda chunks, before: self._take(read, chunks, before))
