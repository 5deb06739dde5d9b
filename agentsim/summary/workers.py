"""Spread conversations over processes and bring their reports home, in the order they were given.

A worker is a fork that writes its reports to an unnamed file; the parent works too. A worker that dies costs nothing
but time: the parent does its share again. Where there is no fork, one process does all.
"""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Callable, Sequence
from typing import IO

import msgspec

from agentsim.prices import PriceBook, default_book
from agentsim.session import Problem
from agentsim.summary.shape import UnitReport
from agentsim.summary.unit import report_on
from traces.claude_code.files import LogFile

Group = tuple[LogFile, ...]
Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_WORD = 8


_Home = list[tuple[int, UnitReport | None, Problem | None]]


def run(groups: Sequence[Group], workers: int, progress: Progress | None = None) -> list[UnitReport | Problem]:
    """One report, or the problem that prevented it, for each group in order. The result is the same for any number of
    workers."""
    book = default_book()
    sizes = [sum(file.size for file in group) for group in groups]
    total = sum(sizes)
    shares = _shares(sizes, max(1, min(workers, len(groups))) if hasattr(os, "fork") else 1)
    done = mmap.mmap(-1, max(1, len(shares)) * _WORD)
    children = [(share, *_fork(groups, share, sizes, book, done, slot)) for slot, share in enumerate(shares) if slot]

    def tell() -> None:
        if progress is not None:
            progress(
                sum(int.from_bytes(done[i * _WORD : (i + 1) * _WORD], "little") for i in range(len(shares))), total
            )

    home = _work(groups, shares[0] if shares else [], sizes, book, done, 0, tell)
    for share, pid, file in children:
        _, status = os.waitpid(pid, 0)
        with file:
            home += _read(file) if status == 0 else _work(groups, share, sizes, book, done, 0, tell)
    tell()
    results: list[UnitReport | Problem | None] = [None] * len(groups)
    for index, report, problem in home:
        results[index] = report if report is not None else problem
    return [result for result in results if result is not None]


def _shares(sizes: Sequence[int], workers: int) -> list[list[int]]:
    """Split indices into shares of about the same number of bytes: the largest first, each to the lightest share."""
    shares: list[list[int]] = [[] for _ in range(workers)]
    weights = [0] * workers
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        lightest = min(range(workers), key=lambda w: (weights[w], w))
        shares[lightest].append(index)
        weights[lightest] += sizes[index]
    return shares


def _work(
    groups: Sequence[Group],
    share: Sequence[int],
    sizes: Sequence[int],
    book: PriceBook,
    done: mmap.mmap,
    slot: int,
    tell: Callable[[], None] | None = None,
) -> _Home:
    results: _Home = []
    finished = 0
    for index in share:
        try:
            results.append((index, report_on(groups[index], book), None))
        except OSError as error:
            path = groups[index][0].path
            problem = Problem(
                file=path, line=0, reason=error.strerror or str(error), remedy="check that it can be read"
            )
            results.append((index, None, problem))
        finished += sizes[index]
        done[slot * _WORD : (slot + 1) * _WORD] = finished.to_bytes(_WORD, "little")
        if tell is not None:
            tell()
    return results


def _fork(
    groups: Sequence[Group], share: Sequence[int], sizes: Sequence[int], book: PriceBook, done: mmap.mmap, slot: int
) -> tuple[int, IO[bytes]]:
    file = _scratch()
    pid = os.fork()
    if pid:
        return pid, file
    status = 1
    try:
        gc.disable()
        data = msgspec.msgpack.encode(_work(groups, share, sizes, book, done, slot))
        file.write(data)
        file.flush()
        status = 0
    finally:
        # Leave without the parent's clean-up: no buffers flushed twice, no handlers run.
        os._exit(status)


def _scratch() -> IO[bytes]:
    """An unnamed file: in memory where the system has such, which also spares loading the module for the others."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("agentsim"), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> _Home:
    file.seek(0)
    return msgspec.msgpack.decode(file.read(), type=_Home)
