"""Logs that are being written: what was read of them is kept, and only what was appended is read.

The sessions are those that reading everything anew would give. A file counts as grown when it is the same one, not
shorter, and holds the bytes that it held at several places and in front of its old end; any other one is read anew, and
so is a conversation of several files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from agentsim.session import Purpose, Request
from traces.claude_code.calls import Call
from traces.claude_code.scan import scan, scan_blocks
from traces.claude_code.session import request_of
from traces.claude_code.steps import Step, Tree
from traces.claude_code.unit import MAX_PROBLEMS, Unit
from traces.lines import MAX_LINE_BYTES, Block, is_packed, open_regular, read_blocks

_PROOF = 256
"""Bytes that are compared at each place."""

_PROOFS = 8


class Known:
    """What was found out about the calls of a unit, as far as nothing appended later can change it."""

    def __init__(self) -> None:
        self._steps: dict[int, Step] = {}
        self._requests: dict[int, tuple[tuple[object, ...], Request]] = {}

    def step(self, tree: Tree, call: Call) -> Step:
        """As :meth:`traces.claude_code.steps.Tree.step`."""
        step = self._steps.get(call.index)
        if step is None:
            step = tree.step(call)
            if step.settled:
                self._steps[call.index] = step
        return step

    def request(
        self,
        unit: Unit,
        call: Call,
        step: Step,
        lane: str,
        purpose: Purpose,
        counted: bool,
        names: Mapping[tuple[str, str], str],
    ) -> Request:
        """As :func:`traces.claude_code.session.request_of`."""
        parent = None if step.parent is None else names.get(step.parent.key)
        name = names.get(call.key)
        # What may still change of a call, and what is not told by the call.
        said = (call.model, call.end, call.stop_reason, call.usage, call.diagnostics)
        key = (*said, step, lane, purpose, counted, name, parent)
        before = self._requests.get(call.index)
        if before is not None and before[0] == key:
            return before[1]
        request = request_of(unit, call, step, lane, purpose, counted, names)
        self._requests[call.index] = (key, request)
        return request


class Growing:
    """Logs by their paths, as far as they were read. Mutable; for one thread."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}

    def unit(self, files: tuple[str, ...]) -> Unit:
        """As :func:`traces.claude_code.scan.scan`."""
        path = files[0]
        if len(files) > 1 or is_packed(path):
            return scan(files)
        log = self._logs.get(path)
        if log is None or not log.grow():
            log = self._logs[path] = _Log(path)
        return log.now()

    def known(self, unit: Unit) -> Known | None:
        """What is known about the calls of a unit that :meth:`unit` gave."""
        log = self._logs.get(unit.files[0])
        return log.known if log is not None and log.unit.calls is unit.calls else None


class _Log:
    """One file: its whole lines taken in, and behind them the beginning of a line that is still being written."""

    def __init__(self, path: str) -> None:
        self.unit = Unit((path,))
        self.known = Known()
        self._path = path
        self._status = os.stat(path)
        self._place = 0  # behind the last whole line
        self._lines = 0
        self._rest = b""
        self._can_grow = True
        scan_blocks(self.unit, 0, self._whole_lines())
        self._proof = self._samples() if self._place else []

    def _whole_lines(self) -> Iterator[Block]:
        for block in read_blocks(self._path):
            if block.overlong:
                self._can_grow = False
            if block.open_end:
                self._rest = block.data
            else:
                self._place = block.offset + block.size + 1
                self._lines += block.data.count(b"\n", 0, block.size) + 1
                yield block

    def grow(self) -> bool:
        """Take in what was appended. False when the file did anything else but grow, or nothing is known of it yet."""
        before, now = self._status, os.stat(self._path)
        end = self._place + len(self._rest)
        if not self._can_grow or not self._place or now.st_size < end:
            return False
        if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino):
            return False
        if now.st_size == end:
            # The same size at another time: something was written over.
            return now.st_mtime_ns == before.st_mtime_ns
        if now.st_size - self._place > MAX_LINE_BYTES or self._samples() != self._proof:
            return False
        with open(open_regular(self._path), "rb") as file:
            file.seek(self._place)
            data = file.read(now.st_size - self._place)
        size = data.rfind(b"\n")
        if size >= 0:
            scan_blocks(self.unit, 0, (Block(self._place, data[:size], size, False, False),), self._lines)
            self._lines += data.count(b"\n")
            self._place += size + 1
            self._proof = self._samples()
        self._rest = data[size + 1 :]
        self._status = now
        return True

    def now(self) -> Unit:
        """The unit as the file is now, with its last line however far that is written."""
        if not self._can_grow:
            return scan(self.unit.files)
        if not self._rest:
            return self.unit
        last = Unit(self.unit.files)
        scan_blocks(last, 0, (Block(self._place, self._rest, len(self._rest), False, True),), self._lines)
        if last.calls:
            # A whole line that only lacks its newline. It may change calls, which could not be undone.
            return scan(self.unit.files)
        last.calls, last.by_key = self.unit.calls, self.unit.by_key
        for name in ("rows", "duplicate", "not_billable"):
            setattr(last, name, getattr(last, name) + getattr(self.unit, name))
        last.session = self.unit.session
        last.first_stamp, last.last_stamp = self.unit.first_stamp, self.unit.last_stamp
        for reason, count in self.unit.skipped.items():
            last.skipped[reason] = last.skipped.get(reason, 0) + count
        last.problems = (self.unit.problems + last.problems)[:MAX_PROBLEMS]
        return last

    def _samples(self) -> list[bytes]:
        """Bytes from all over the lines that were taken in."""
        last = max(self._place - _PROOF, 0)
        with open(open_regular(self._path), "rb", buffering=0) as file:
            samples = []
            for part in range(_PROOFS + 1):
                file.seek(last * part // _PROOFS)
                samples.append(file.read(min(_PROOF, self._place)))
            return samples
