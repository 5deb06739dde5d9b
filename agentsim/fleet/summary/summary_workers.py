"""Spread conversations over processes and bring their reports home, in the order they were given.

A worker is a fork that writes its reports to an unnamed file; the parent works too. Each takes the next conversation
when it is done with one, the largest first. A worker that dies costs nothing but time: the parent does again what it
took. Where there is no fork, one process does all.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

import msgspec

from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Problem
from agentsim.fleet.summary.conversation_report import report_on
from agentsim.fleet.summary.summary_shape import UnitReport
from agentsim.rules.prices import PriceBook, default_book
from agentsim.traces.readers.claude_code.claude_files import LogFile

Group = tuple[LogFile, ...]
Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_WORD = 8

_MOST_TOKENS = 1024
_TOKEN = 2
"""Bytes. All tokens together fit the smallest pipe there is, so that filling it never waits."""

_Home = list[tuple[int, UnitReport | None, Problem | None]]


def run(
    groups: Sequence[Group],
    workers: int,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> list[UnitReport | Problem]:
    """One report, or the problem that prevented it, for each group in order. The result is the same for any number of
    workers. ``meanwhile`` is called once, when the workers have begun."""
    book = default_book()
    sizes = [sum(file.size for file in group) for group in groups]
    total = sum(sizes)
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    count = max(1, min(workers, len(groups))) if hasattr(os, "fork") else 1
    done = mmap.mmap(-1, count * _WORD)
    queue = IndexQueue(order) if count > 1 else None
    children = [_fork(groups, queue, sizes, book, done, slot) for slot in range(1, count)] if queue is not None else []

    def tell() -> None:
        if progress is not None:
            progress(sum(int.from_bytes(done[i * _WORD : (i + 1) * _WORD], "little") for i in range(count)), total)

    if meanwhile is not None:
        meanwhile()
    home = _work(groups, order if queue is None else queue, sizes, book, done, 0, tell)
    for slot, (pid, file) in enumerate(children, 1):
        _, status = os.waitpid(pid, 0)
        with file:
            if status == 0:
                home += _read(file)
            else:
                done[slot * _WORD : (slot + 1) * _WORD] = bytes(_WORD)
    returned = {index for index, _, _ in home}
    home += _work(groups, [index for index in order if index not in returned], sizes, book, done, 0, tell)
    tell()
    results: list[UnitReport | Problem | None] = [None] * len(groups)
    for index, report, problem in home:
        results[index] = report if report is not None else problem
    return [result for result in results if result is not None]


class IndexQueue:
    """Indices that several processes take from, each once: tokens in a pipe, each for some of the indices."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order
        self._tokens = min(len(order), _MOST_TOKENS)
        self._reading, writing = os.pipe()
        os.write(writing, b"".join(token.to_bytes(_TOKEN, "little") for token in range(self._tokens)))
        os.close(writing)

    def __iter__(self) -> Iterator[int]:
        while token := os.read(self._reading, _TOKEN):
            yield from self._order[int.from_bytes(token, "little") :: self._tokens]
        os.close(self._reading)


def _work(
    groups: Sequence[Group],
    indices: Iterable[int],
    sizes: Sequence[int],
    book: PriceBook,
    done: mmap.mmap,
    slot: int,
    tell: Callable[[], None] | None = None,
) -> _Home:
    results: _Home = []
    place = slice(slot * _WORD, (slot + 1) * _WORD)
    finished = int.from_bytes(done[place], "little")
    for index in indices:
        try:
            results.append((index, report_on(groups[index], book), None))
        except OSError as error:
            path = groups[index][0].path
            problem = Problem(
                file=path, line=0, reason=error.strerror or str(error), remedy="check that it can be read"
            )
            results.append((index, None, problem))
        finished += sizes[index]
        done[place] = finished.to_bytes(_WORD, "little")
        if tell is not None:
            tell()
    return results


def _fork(
    groups: Sequence[Group], indices: Iterable[int], sizes: Sequence[int], book: PriceBook, done: mmap.mmap, slot: int
) -> tuple[int, IO[bytes]]:
    file = scratch_file()
    pid = os.fork()
    if pid:
        return pid, file
    status = 1
    try:
        with without_collection():
            data = msgspec.msgpack.encode(_work(groups, indices, sizes, book, done, slot))
        file.write(data)
        file.flush()
        status = 0
    finally:
        # Leave without the parent's clean-up: no buffers flushed twice, no handlers run.
        os._exit(status)


def scratch_file() -> IO[bytes]:
    """An unnamed file: in memory where the system has such, which also spares loading the module for the others."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("agentsim"), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> _Home:
    file.seek(0)
    return msgspec.msgpack.decode(file.read(), type=_Home)
