"""A file looked up by places, in bounded memory, that may change while it is looked at.

It answers like the bytes of the file. A file that was cut short in the meantime ends earlier, which is no error: a map
of it into memory would end the whole program there.
"""

from __future__ import annotations

import os

from agentsim.traces.log_lines import open_regular

_FIRST = 16 * 2**10
_MOST = 2**20


class FileView:
    """The bytes of a regular file. Close it. Raises OSError when it cannot be opened; what cannot be read later is
    empty."""

    __slots__ = ("_file", "_size")

    def __init__(self, path: str) -> None:
        self._file = open(open_regular(path), "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._size = os.fstat(self._file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        start, stop, _ = place.indices(self._size)
        try:
            self._file.seek(start)
            return self._file.read(max(0, stop - start))
        except OSError:
            return b""

    def find(self, needle: bytes, low: int = 0, high: int | None = None) -> int:
        """Where these bytes stand first; -1 where they do not."""
        high = self._size if high is None else min(high, self._size)
        size, over = _FIRST, len(needle) - 1
        while low < high:
            found = self[low : min(low + size + over, high)].find(needle)
            if found >= 0:
                return low + found
            low, size = low + size, min(2 * size, _MOST)
        return -1

    def rfind(self, needle: bytes, low: int = 0, high: int | None = None) -> int:
        """Where these bytes stand last; -1 where they do not."""
        high = self._size if high is None else min(high, self._size)
        size, over = _FIRST, len(needle) - 1
        while high > low:
            begin = max(low, high - size - over)
            found = self[begin:high].rfind(needle)
            if found >= 0:
                return begin + found
            if begin == low:
                return -1
            high, size = begin + over, min(2 * size, _MOST)
        return -1

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
