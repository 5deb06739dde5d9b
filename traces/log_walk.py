"""The files of folders, in an order that depends on nothing but their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from agentsim.core.session import Problem

PACKED = ("", ".gz", ".zst")
"""Behind each end of a name: a file that is packed is read as what is in it."""

LOG_ENDS = tuple(end + packed for end in (".jsonl", ".ndjson", ".request.json", ".response.json") for packed in PACKED)
"""In a folder only files with these ends are looked at; a file that was named is taken whatever its name."""

QUIET_ENDS = (
    *(end + packed for end in (".json", ".traj", ".csv", ".har", ".yaml", ".yml") for packed in PACKED),
    ".db",
    ".eval",
)
"""Ends that many other files have as well: such a file in a folder is looked at, and nothing is said when it is of no
known format."""

NO_LOGS = frozenset({"journal.jsonl"})
"""Names of files that harnesses keep among their logs for themselves."""

QUIET_NAMES = frozenset({"index.jsonl"})
"""Names that harnesses give to lists of files beside their logs: as quiet as :data:`QUIET_ENDS`."""

MAX_DEPTH = 64


def without_packing(path: str) -> str:
    """The path without the end of a packing."""
    return path.removesuffix(".gz").removesuffix(".zst")


class FoundFile(NamedTuple):
    """A file, and whether it was named or lay in a folder."""

    path: str
    named: bool


def find(
    paths: Iterable[str], tell: Callable[[Problem], None], ends: tuple[str, ...] = (*LOG_ENDS, *QUIET_ENDS)
) -> list[FoundFile]:
    """The files at and under these paths, each once, sorted by path. A folder is entered once, so links that go in
    circles end. What cannot be entered is told; FIFOs and devices in a folder are passed over, and files whose names
    end otherwise than with ``ends``."""
    found: dict[str, bool] = {}
    entered: set[tuple[int, int]] = set()
    for path in sorted(set(paths)):
        if os.path.isdir(path):
            _walk(path, 0, found, entered, tell, ends)
        else:
            found[path] = True
    return [FoundFile(path, named) for path, named in sorted(found.items())]


def _walk(
    folder: str,
    depth: int,
    found: dict[str, bool],
    entered: set[tuple[int, int]],
    tell: Callable[[Problem], None],
    ends: tuple[str, ...],
) -> None:
    try:
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in entered:
            return
        entered.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        tell(_unreadable(folder, error))
        return
    for entry in entries:
        try:
            if entry.is_dir():
                if depth < MAX_DEPTH:
                    _walk(entry.path, depth + 1, found, entered, tell, ends)
            elif entry.name.endswith(ends) and entry.name not in NO_LOGS and entry.is_file():
                found.setdefault(entry.path, False)
        except OSError as error:
            tell(_unreadable(entry.path, error))


def _unreadable(path: str, error: OSError) -> Problem:
    return Problem(file=path, line=0, reason=error.strerror or "cannot be read", remedy="check that you may read it")
