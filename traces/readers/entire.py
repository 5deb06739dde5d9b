"""Checkpoints of the Entire CLI: a branch that was checked out to a folder, with the agents' own logs in it.

Each checkpoint is ``<2 hex>/<10 hex>/<n>/full.jsonl`` with a ``metadata.json`` beside it. The same session stands in
many checkpoints, longer each time: only the longest is read, by the reader of its own format, whose conventions hold. A
session keeps the name of that format. A shorter checkpoint that is no beginning of the longest one is read as well (a
document that was written anew, or a log after a rewind); the reader of its format then counts once what both hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import Problem, Session
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import TraceError, tell_or_raise
from agentsim.traces.log_lines import open_regular

NAME = "entire-checkpoints"
DESCRIPTION = "checkpoints of the Entire CLI (a folder of <xx>/<id>/<n>/full.jsonl with metadata.json)"
VERIFIED = False

_PLACE = re.compile(r"(?:^|/)[0-9a-f]{2}/[0-9a-f]{10}/\d{1,6}/full\.jsonl$")
MAX_METADATA_BYTES = 2**20
COMPARED_BYTES = 2**20


class _Metadata(msgspec.Struct, gc=False):
    session_id: str | None = None
    agent: str | None = None


_metadata = msgspec.json.Decoder(_Metadata)


def detect(head: bytes, path: str) -> bool:
    """Whether a file is the log of a checkpoint: it lies where one lies, and what describes it lies beside it."""
    return bool(_PLACE.search(path.replace(os.sep, "/"))) and _described(path) is not None


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these checkpoints, each once.

    What is wrong with a file is told in ``problems``; without that list OSError is raised for it.
    """
    from agentsim.traces.format_registry import FORMATS, LogFormat, head_of

    groups: dict[LogFormat, list[str]] = {}
    for path in _longest(paths, problems):
        try:
            with open(open_regular(path), "rb") as file:
                head = head_of(file)
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        format = next((one for one in FORMATS if one.module != __name__ and one.reader.detect(head, path)), None)
        if format is None:
            unknown = TraceError(path, "a log of no known format", "'agentsim trace formats' lists what can be read")
            tell_or_raise(unknown, path, problems)
        else:
            groups.setdefault(format, []).append(path)
    for format in FORMATS:
        if format in groups:
            yield from format.reader.read_sessions(groups[format], problems)


def _longest(paths: Sequence[str], problems: list[Problem] | None) -> list[str]:
    """The longest log of each session, and those that are no beginning of it."""
    sessions: dict[str, list[tuple[int, str]]] = {}
    for path in paths:
        found = _described(path)
        try:
            size = os.stat(path).st_size
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        name = found.session_id if found is not None and found.session_id else path
        sessions.setdefault(name, []).append((size, path))
    kept: list[str] = []
    for group in sessions.values():
        (_, longest), *others = sorted(group, key=lambda item: (-item[0], item[1]))
        kept.append(longest)
        kept += [path for size, path in others if not _begins(longest, path, size)]
    return sorted(kept)


def _begins(longer: str, shorter: str, size: int) -> bool:
    """Whether the longer file begins with all of the shorter one, as a log of lines does that only grew."""
    try:
        with open(open_regular(longer), "rb") as one, open(open_regular(shorter), "rb") as other:
            left = size
            while left > 0:
                data = other.read(min(COMPARED_BYTES, left))
                if not data:
                    return True
                if one.read(len(data)) != data:
                    return False
                left -= len(data)
            return True
    except OSError:
        return False


def _described(path: str) -> _Metadata | None:
    try:
        with open(open_regular(os.path.join(os.path.dirname(path), "metadata.json")), "rb") as file:
            return decode(_metadata, file.read(MAX_METADATA_BYTES))
    except (OSError, BadRow):
        return None
