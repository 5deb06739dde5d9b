"""Serving traces as rows: a request a row, with the identities of its blocks and the tokens up to each of them.

What only counts blocks needs no prompts, which cost a digest a block. :class:`ServingRow` is all that a trace says of a
request; readers of such traces make their sessions from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import Tally


class ServingRow(msgspec.Struct, gc=False):
    """A request of a serving trace. Times in nanoseconds from the trace's beginning.

    ``ids`` name blocks of ``size`` tokens; the last may hold less, or there are less than ``size`` tokens after it.
    """

    ids: list[int]
    tokens: int
    start: int | None
    line: int
    model: str = ""


class BlockTrace(msgspec.Struct):
    """The requests of one trace that its reader could use, in the order of the file, and what became of the others."""

    file: str
    size: int
    rows: list[ServingRow]
    tally: Tally


class BlockReader(Protocol):
    """A reader that can give the rows of its traces as they stand. ``size`` overrides the tokens of a block."""

    @staticmethod
    def read_blocks(path: str, size: int | None = None) -> BlockTrace:
        """The rows of one trace. Raises OSError when the file cannot be read."""


class BlockKeys:
    """The keys of blocks in a tree of prefixes. Mutable: it gives out names for what equals nothing else."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._steps: list[int] = []
        self._tails = 0

    def of(self, row: ServingRow) -> tuple[list[int], list[int]]:
        """The keys of a row's blocks, and the tokens up to each. A partial block is only equal to one as long."""
        ids, tokens, size = row.ids, row.tokens, self.size
        count = len(ids)
        steps = self._steps
        while len(steps) <= count:
            steps.append((len(steps) + 1) * size)
        rest = tokens - count * size
        if not rest:
            return ids, steps[:count]
        ends = steps[:count]
        if rest < 0:
            ends[-1] = tokens
            return [*ids[:-1], ~(ids[-1] * size + rest + size)], ends
        self._tails += 1
        return [*ids, -(2**90) - self._tails], [*ends, tokens]


def checked(ids: Sequence[int], tokens: int, size: int) -> None:
    """Raise BadRow unless a prompt of so many tokens has these blocks, and perhaps a part of one more."""
    whole = len(ids) * size
    if not whole - size < tokens < whole + size or (tokens > 0) != bool(ids or tokens < size):
        raise BadRow("bad counter", "the input is not as long as its blocks")


def in_order(rows: Sequence[ServingRow]) -> Iterator[ServingRow]:
    """Rows by their start; one without a start follows the row before it, and ties keep their order."""
    last = 0
    keyed: list[tuple[int, ServingRow]] = []
    for row in rows:
        last = last if row.start is None else row.start
        keyed.append((last, row))
    keyed.sort(key=_start)
    return (row for _, row in keyed)


def _start(keyed: tuple[int, ServingRow]) -> int:
    return keyed[0]
