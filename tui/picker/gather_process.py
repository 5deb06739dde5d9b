"""Gather in a process of its own: reading and judging hold the interpreter, and keys would wait for it.

The process is a fresh interpreter, not a fork: threads run here already, and a fork would take their locks along. Where
none can be started, or it dies before it is through, the work is done in the calling thread.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, NoReturn

from agentsim.core.session import Problem
from agentsim.tui.picker.gather_sessions import PickerLine, Tell, gather

_START = "import sys; sys.path[:] = sys.argv[1:]; from agentsim.tui.picker.gather_process import work; work()"
_SIZE = 4
"""Bytes that tell how long a message is."""
_NICE = 5
"""The app comes first, where all processors are busy."""

_Batch = tuple[tuple[PickerLine, ...], int, int]


class Gathering:
    """One list being gathered. ``run`` in a thread, ``stop`` from anywhere."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End it, whatever it is doing. Nothing is told any more, and no process is left."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def run(self, tell: Tell) -> list[Problem]:
        """As :func:`agentsim.tui.picker.gather_sessions.gather`; returns nothing when it was stopped."""

        def passed_on(lines: Sequence[PickerLine], done: int, total: int) -> bool:
            return not self._stopped and tell(lines, done, total)

        try:
            process = _started()
        except (OSError, ValueError):
            return gather(self._paths, passed_on)
        self._process = process
        try:
            problems = None if self._stopped else self._listen(process, passed_on)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                # What was still to be sent to a process that is gone is of no use.
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
        if problems is None and not self._stopped:
            problems = gather(self._paths, passed_on)
        return problems or []

    def _listen(self, process: subprocess.Popen[bytes], tell: Tell) -> list[Problem] | None:
        """Pass on what comes from the process, until its problems, which come last; ``None`` when they do not come."""
        from agentsim.rules.providers.rules_library import brought_files

        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (self._paths, brought_files()))
            while True:
                message = _receive(process.stdout)
                if isinstance(message, list):
                    return message
                if not tell(*message):
                    self._stopped = True
                    return None
        except (OSError, EOFError):
            return None


def _started() -> subprocess.Popen[bytes]:
    """The process, waiting for its order. Raises OSError where there can be none."""
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("no interpreter to start")
    return subprocess.Popen(
        [sys.executable, "-c", _START, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # The terminal belongs to the app.
        stderr=subprocess.DEVNULL,
    )


def _send(pipe: IO[bytes], message: object) -> None:
    data = pickle.dumps(message)
    pipe.write(len(data).to_bytes(_SIZE, "little") + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> _Batch | list[Problem]:
    """The next message. Raises EOFError when there is none, or no whole one."""
    data = _exactly(pipe, int.from_bytes(_exactly(pipe, _SIZE), "little"))
    # It comes from our own process, over a pipe that nobody else holds.
    message: _Batch | list[Problem] = pickle.loads(data)
    return message


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def work() -> NoReturn:
    """What the process does: gather by the order that comes in, and send home what is found. It ends with the app,
    however that ends: its input is closed then."""
    from threading import Thread

    from agentsim.rules.providers.rules_library import bring

    home, order = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb", buffering=0)
    # Nothing that a library may print can get between two messages.
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(_NICE)
    paths, rules = pickle.loads(_exactly(order, int.from_bytes(_exactly(order, _SIZE), "little")))
    for file in rules:
        bring(file)

    def end_with_app() -> None:
        order.read(1)
        os._exit(0)

    def tell(lines: Sequence[PickerLine], done: int, total: int) -> bool:
        _send(home, (tuple(lines), done, total))
        return True

    Thread(target=end_with_app, daemon=True).start()
    status = 1
    try:
        _send(home, gather(paths, tell))
        status = 0
    finally:
        os._exit(status)
