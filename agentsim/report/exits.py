"""Exit codes, and the one exception that carries one. ``docs/exit-codes.md`` documents them for users."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller. The numbers never change their meaning."""

    OK = 0
    """All went well; also when a reader such as ``head`` closed the pipe early."""
    FINDINGS = 1
    """The input was read and what was asked for did not hold: a budget, a gate, an agreement."""
    USAGE = 2
    """The command line or a configuration is wrong."""
    UNREADABLE = 3
    """An input cannot be read, or (with ``--strict``) part of it was skipped."""
    DEFECT = 70
    """agentsim itself is wrong: something happened that it does not expect."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""


class Failure(Exception):
    """Something that ends a command: one line that names the file, the line and what to do about it.

    The parts may hold outside text; they are made safe where they are printed.
    """

    def __init__(
        self,
        reason: str,
        *,
        remedy: str | None = None,
        file: str | None = None,
        line: int | None = None,
        code: ExitCode = ExitCode.UNREADABLE,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.file = file
        self.line = line
        self.code = code
