"""A probe as JSON lines: one for the run, one for each request as it is answered, one for each finding."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, BinaryIO

import msgspec

from agentsim.core.session import Usage
from agentsim.trust.probe.probe_bench import ProbeFinding, ProbeStep

FORMAT = "agentsim/probe/1"
_encode = msgspec.json.encode


class Journal:
    """Rows as they come, each on the disk before the next request is sent. Without a file they go nowhere. Mutable."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def add(self, row: bytes) -> None:
        """Write a row. Raises OSError."""
        if self._file is not None:
            self._file.write(row)
            self._file.flush()


@contextmanager
def journal(path: str | None) -> Iterator[Journal]:
    """A journal in a file that only its owner may read, or on standard output (``-``). What the file held is gone.

    Raises OSError.
    """
    if path is None or path == "-":
        yield Journal(None if path is None else sys.stdout.buffer)
        return
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        yield Journal(file)


def head_row(run: str, provider: str, model: str, host: str, live: bool) -> bytes:
    """The first line: what is asked, and where."""
    row = {
        "record": "run",
        "format": FORMAT,
        "run": run,
        "provider": provider,
        "model": model,
        "endpoint": "live" if live else "emulated",
        "host": host,
    }
    return _encode(row) + b"\n"


def step_row(run: str, step: ProbeStep) -> bytes:
    """A request and its answer. No text of either is in it."""
    answered = step.answered
    row: dict[str, Any] = {
        "record": "request",
        "run": run,
        "experiment": step.experiment,
        "number": step.number,
        "name": step.name,
        "id": answered.id,
        "start": _time(answered.start),
        "first_token_ns": answered.first_token - answered.start,
        "end_ns": answered.end - answered.start,
        "usage": _usage(answered.usage),
        "predicted": {"read": step.predicted.read, "write": step.predicted.write},
        "holds": step.holds,
    }
    return _encode(row) + b"\n"


def finding_row(run: str, finding: ProbeFinding) -> bytes:
    """What an experiment found."""
    return _encode({"record": "finding", "run": run, **msgspec.structs.asdict(finding)}) + b"\n"


def failure_row(run: str, reason: str) -> bytes:
    """Why a run ended before its end."""
    return _encode({"record": "failure", "run": run, "reason": reason}) + b"\n"


def _usage(usage: Usage) -> dict[str, int | None]:
    return {
        "total_input": usage.total_input,
        "fresh": usage.fresh,
        "read": usage.read,
        "write": usage.write,
        "write_5m": usage.write_short,
        "write_1h": usage.write_long,
        "output": usage.output,
    }


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
