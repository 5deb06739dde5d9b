"""Runs programs in turn, A B A B, and compares them pair by pair.

Wall times of one machine say little about another's; the ratio of two programs that ran in turn on the same files says
more. The first run of each program is not counted: it fills the page cache, and whatever the program keeps for itself.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any


class BenchmarkError(RuntimeError):
    """A program could not be run, or gave a wrong answer."""


def _environment() -> dict[str, str]:
    """This process's environment, but that Python programs keep their compiled modules, as installed ones do."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Program:
    """A program to be timed: its name and its command line, with variables of its environment before it."""

    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str, names: Mapping[str, str] | None = None) -> Program:
        """From ``NAME=[VARIABLE=VALUE …] COMMAND ARGUMENT …``; ``{corpus}`` and the like are replaced by ``names``.

        Raises BenchmarkError when the text has no name or no command.
        """
        name, equals, rest = text.partition("=")
        words = [word.format(**(names or {})) for word in shlex.split(rest)]
        environment: list[tuple[str, str]] = []
        while words and "=" in words[0] and "/" not in words[0].partition("=")[0]:
            variable, _, value = words.pop(0).partition("=")
            environment.append((variable, value))
        if not equals or not name or not words:
            raise BenchmarkError(f"not a program: {text!r}; write NAME=COMMAND ARGUMENT …")
        return cls(name, tuple(words), tuple(environment))


@dataclass(frozen=True)
class Run:
    """One run: seconds of wall time, and the peak memory of its largest process in MiB."""

    seconds: float
    mebibytes: float


@dataclass
class Timing:
    """The counted runs of a program, in order."""

    program: Program
    runs: list[Run] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median wall time."""
        return median(run.seconds for run in self.runs)

    @property
    def mebibytes(self) -> float:
        """The highest peak of all runs."""
        return max(run.mebibytes for run in self.runs)

    def ratio_to(self, other: Timing) -> tuple[float, float, float]:
        """Our time over another's, run by run: the median, the least and the greatest ratio."""
        ratios = sorted(a.seconds / b.seconds for a, b in zip(self.runs, other.runs, strict=True))
        return median(ratios), ratios[0], ratios[-1]


def run(program: Program, keep_output: bool = False) -> tuple[Run, str]:
    """Run a program to its end. Raises BenchmarkError when it cannot be run or fails.

    The memory is what the system reports of the largest process among the program and those it waited for.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                program.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**_environment(), **dict(program.environment)},
            )
        except OSError as error:
            raise BenchmarkError(f"{program.name}: {error}") from error
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            last = errors.read()[-500:].decode(errors="replace")
            raise BenchmarkError(f"{program.name} ended with {process.returncode}: {last}")
        output.seek(0)
        text = output.read().decode(errors="replace") if keep_output else ""
    return Run(seconds, used.ru_maxrss / 1024), text


def race(programs: Sequence[Program], rounds: int) -> list[Timing]:
    """Run programs in turn, once to warm up and then ``rounds`` times."""
    timings = [Timing(program) for program in programs]
    for number in range(rounds + 1):
        for timing in timings:
            measured, _ = run(timing.program)
            if number:
                timing.runs.append(measured)
    return timings


def rows(title: str, timings: Sequence[Timing]) -> list[list[str]]:
    """Lines of a table: the first timing is ours, and each other is compared with it."""
    ours = timings[0]
    lines = [[title, ours.program.name, f"{ours.seconds:.2f} s", f"{ours.mebibytes:.0f} MiB", ""]]
    for other in timings[1:]:
        middle, least, greatest = ours.ratio_to(other)
        ratio = f"**{middle:.2f}×** ({least:.2f}–{greatest:.2f})"
        lines.append(["", other.program.name, f"{other.seconds:.2f} s", f"{other.mebibytes:.0f} MiB", ratio])
    return lines


HEADINGS = ["what", "program", "time", "largest process", "ours ÷ theirs (least–greatest)"]


def markdown(lines: Sequence[Sequence[str]], headings: Sequence[str] = HEADINGS) -> str:
    """A Markdown table."""
    table = [headings, ["--"] * len(headings), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in table)


def put_into(readme: Path, section: str, text: str) -> None:
    """Replace what stands between the markers of a section. Raises BenchmarkError when there are none."""
    content = readme.read_text(encoding="utf-8")
    start, end = f"<!-- benchmark {section} -->", f"<!-- end of benchmark {section} -->"
    before, found, rest = content.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise BenchmarkError(f"{readme} has no lines {start} and {end}")
    readme.write_text(f"{before}{start}\n{text}\n{end}{after}", encoding="utf-8")


def finish(section: str, text: str, readme: Path | None) -> None:
    """Print a table, and put it into a file where one is named."""
    print(text)
    if readme is not None:
        put_into(readme, section, text)


def add_common_options(parser: Any) -> None:
    """The options that every benchmark has."""
    parser.add_argument("--ours", default=None, metavar="NAME=COMMAND", help="our command, if not the installed one")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="a program to compare with; may be given several times; variables may stand before the command",
    )
    parser.add_argument("--rounds", type=int, default=7, help="counted runs of each program (default: 7)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the table between the markers in this file")
