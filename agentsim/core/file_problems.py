"""What is wrong with a file that a person wrote. Imports nothing: the command line tells of it, whatever it loads."""

from __future__ import annotations

from typing import NamedTuple


class FileProblem(NamedTuple):
    """A mistake in a file: where it is, and what to do. ``key`` is a path such as ``minimum.0.value``."""

    reason: str
    remedy: str
    file: str | None = None
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what

    @property
    def what(self) -> str:
        """The key and what is wrong with it."""
        return f"{self.key}: {self.reason}" if self.key else self.reason

    @property
    def place(self) -> str:
        """The file and the line, as far as they are known."""
        return self.file or "" if self.line is None else f"{self.file}:{self.line}"


class WrittenFileError(ValueError):
    """A file that cannot be used, or something that it should have stated. ``problems`` are its mistakes, in the file's
    order; there is at least one."""

    def __init__(self, *problems: FileProblem) -> None:
        super().__init__(str(problems[0]))
        self.problems = problems

    @property
    def first(self) -> FileProblem:
        """The first mistake."""
        return self.problems[0]


def refused(reason: str, remedy: str, *, file: str | None = None, line: int | None = None) -> WrittenFileError:
    """The error of one problem: its ``reason``, its ``remedy``, and ``file`` and ``line`` as far as they are known."""
    return WrittenFileError(FileProblem(reason, remedy, file, line))
