"""What a peer is: a program, the form of evidence it reads, and what its words mean in our codes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.verdicts.simulated_agent import LivedCall
from benchmarks.verdicts.verdict_scores import Said

TOOLS = ("AS101", "AS102", "AS103", "AS104", "AS105")
SYSTEM = ("AS110", "AS111", "AS112")
MESSAGES = ("AS120", "AS121", "AS122", "AS123", "AS124", "AS125", "AS126", "AS127", "AS128", "AS129", "AS130", "AS131")
PREFIX = (*TOOLS, *SYSTEM, *MESSAGES)
EXPIRED = ("AS201", "AS202", "AS203", "AS204", "AS205", "AS206")

Verdicts = dict[str, Said]
"""What a peer said, by the id of the call. A call that it does not speak of lost nothing in its eyes."""


@dataclass(frozen=True)
class Asked:
    """A file to be explained, and the calls that it holds, in the order of their starts."""

    path: Path
    calls: list[LivedCall]


@dataclass(frozen=True)
class PeerProgram:
    """A program beside ours. ``explain`` asks it about one file."""

    name: str
    form: str
    explain: Callable[[Path, Asked], Verdicts]
    program: str = ""

    def found_in(self, folder: Path) -> Path | None:
        """Its executable in a folder of programs."""
        path = folder / (self.program or self.name)
        return path if path.exists() else None


def claims(codes: tuple[str, ...], lost: int | None = None) -> Said:
    """A loss with causes that are asserted: several where the peer's word covers several of ours."""
    return Said("miss", codes[0], True, (), lost, "stated", codes[1:])


def leaves_open(*named: str) -> Said:
    """A loss that the peer does not explain, or for which it only names candidates."""
    return Said("miss", "AS902", False, named)


def output_of(*command: str | Path, home: Path | None = None, seconds: float = 60) -> str:
    """What a program prints; empty where it fails. It is given a home of its own, so that it finds no real logs."""
    environment = {**os.environ, "TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "400"}
    environment.pop("PYTHONPATH", None)
    if home is not None:
        environment["HOME"] = str(home)
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
