"""Small files for their owner's eyes alone, in the folder of :mod:`agentsim.traces.kept_places`."""

from __future__ import annotations

import os

from agentsim.guard.light_json import NotJson, dumps, loads
from agentsim.traces.kept_places import state_folder

_MODE = 0o600
LARGEST_LOG = 64 * 1024


def place(*names: str) -> str:
    """A file inside the folder, whose own folder is made when it is missing."""
    folder = os.path.join(state_folder(), *names[:-1])
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, names[-1])


def read_table(path: str) -> dict[str, object]:
    """What a file holds; an empty table where it is missing or damaged."""
    try:
        with open(path, "rb", buffering=0) as file:
            found = loads(file.read(4 * 2**20))
    except (OSError, NotJson):
        return {}
    return found if isinstance(found, dict) else {}


def write_table(path: str, value: dict[str, object]) -> None:
    """Put a table in a file's place at once: a reader sees the old one or the new one."""
    draft = f"{path}.{os.getpid()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    try:
        os.write(file, dumps(value).encode())
    finally:
        os.close(file)
    os.replace(draft, path)


def append_line(path: str, value: dict[str, object], largest: int) -> None:
    """Append one line; a file that has grown too large keeps its newer half."""
    line = dumps(value).encode() + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _MODE)
    try:
        os.write(file, line)
        size = os.fstat(file).st_size
    finally:
        os.close(file)
    if size > largest:
        _halve(path)


def _halve(path: str) -> None:
    with open(path, "rb") as file:
        data = file.read()
    kept = data[data.find(b"\n", len(data) // 2) + 1 :]
    draft = f"{path}.{os.getpid()}"
    file_ = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    try:
        os.write(file_, kept)
    finally:
        os.close(file_)
    os.replace(draft, path)


def note_failure(where: str, error: BaseException, now: int) -> None:
    """Write down that something went wrong, for 'agentsim guard status'. The kind of the error alone: its words may be
    private. Never raises."""
    try:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        line = 0 if at is None else at.tb_lineno
        file = "" if at is None else os.path.basename(at.tb_frame.f_code.co_filename)
        said: dict[str, object] = {"t": now, "in": where, "what": type(error).__name__, "at": f"{file}:{line}"}
        append_line(place("failures.jsonl"), said, LARGEST_LOG)
    except Exception:  # a failure that cannot be told must still be silent
        return
