"""Files that people write, in TOML (or JSON): read, fitted to a type, and every mistake named with its line and remedy.

A family of files states its types (:mod:`agentsim.core.written_types` says how) and what else must hold. All families
have one kind of problem and one kind of error.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

from agentsim.core.file_problems import FileProblem, WrittenFileError, refused
from agentsim.core.toml_lines import Path, key_lines, line_of
from agentsim.core.written_types import MISFIT, fit

MOST_PROBLEMS = 50
"""How many mistakes of one file are told."""

MOST_BYTES = 16 * 2**20
"""Nothing that a person writes is larger."""

T = TypeVar("T")


class WrittenFile:
    """The text of a file, parsed once. Mutable: collects problems. Raises WrittenFileError for what is no TOML, or no
    JSON where the file's name ends so."""

    def __init__(self, text: str, file: str, parse_float: Callable[[str], Any] = float) -> None:
        self.file = file
        self.problems: list[FileProblem] = []
        self._lines: dict[Path, int] | None = None
        self._text = text
        self._is_json = file.endswith(".json")
        try:
            self.data: dict[str, Any] = (
                json.loads(text) if self._is_json else tomllib.loads(text, parse_float=parse_float)
            )
        except json.JSONDecodeError as error:
            raise refused(f"not JSON: {error.msg}", "correct the line", file=file, line=error.lineno) from None
        except tomllib.TOMLDecodeError as error:
            reason, _, place = str(error).partition(" (at ")
            at = re.match(r"line (\d+)", place)
            line = int(at[1]) if at else text.rstrip("\n").count("\n") + 1
            raise refused(f"not TOML: {reason}", "see https://toml.io", file=file, line=line) from None
        except RecursionError:
            raise refused("nested too deeply", "nothing in such a file is", file=file) from None

    def line(self, path: Path) -> int | None:
        """The line of a key, or of the nearest one above it that is in the file."""
        if self._lines is None:
            self._lines = {} if self._is_json else key_lines(self._text)
        return line_of(self._lines, path)

    def say(self, path: Path, reason: str, remedy: str) -> bool:
        """Add a problem at the key ``path``: the ``reason`` and the ``remedy``. Returns False."""
        self.problems.append(FileProblem(reason, remedy, self.file, self.line(path), ".".join(map(str, path))))
        return False

    def fit(self, value: object, kind: Any, path: Path = ()) -> Any:
        """The ``value`` at the key ``path`` as one of the type ``kind``.

        ``None``, with a problem for each mistake, where it is none.
        """
        try:
            found = fit(value, kind, path, self.say)
        except RecursionError:
            self.say(path, "nested too deeply", "nothing in such a file is")
            found = MISFIT
        return None if found is MISFIT else found

    def check(self) -> None:
        """Raise WrittenFileError for the problems there are, in the file's order."""
        if self.problems:
            found = sorted(self.problems, key=lambda problem: problem.line or 0)
            raise WrittenFileError(*found[:MOST_PROBLEMS])

    def as_a(self, kind: type[T]) -> T:
        """The whole file as one of a type. Raises WrittenFileError."""
        found: T = self.fit(self.data, kind)
        self.check()
        return found


def read_text(file: str, most: int = MOST_BYTES) -> str:
    """The text of a file. Raises WrittenFileError."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise refused(error.strerror or str(error), "check that it is a file you may read", file=file) from None
    if len(data) > most:
        raise refused(f"larger than such a file can be ({most:,} bytes)", "check that it is the one meant", file=file)
    try:
        return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused("not UTF-8 text", "save it as UTF-8", file=file, line=line) from None
