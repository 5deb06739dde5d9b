"""The folder of a sweep: Parquet tables by shard, what each shard was made of, and the settings that made them.

A shard's files are written under other names and renamed; its note, written last, says that it is finished.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentsim.core.session import Problem

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Of the folder; raised when what it holds changes its meaning."""

_SETTINGS = "sweep.json"
_TABLES = ("policies", "usage", "misses", "ids")
_MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep was asked. Results of other settings cannot be mixed with its own."""

    policies: tuple[str, ...]
    team: str | None = None
    rules: tuple[tuple[str, str], ...] = ()
    """Rules files of the user's own: their names and their text, as every worker needs them."""
    format: int = FORMAT

    @property
    def digest(self) -> bytes:
        """What the names of shards depend on."""
        return msgspec.json.encode(self, order="deterministic")


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A finished shard: its files, how much they held, how their rows were used, and what was skipped."""

    key: str
    files: tuple[str, ...]
    bytes: int
    sessions: int
    requests: int
    rows: int
    used: int
    duplicate: int
    not_billable: int
    skipped: tuple[tuple[str, int], ...]
    problems: tuple[Problem, ...]


class NotOurs(ValueError):
    """A folder that holds something else, or a sweep that was asked something else; ``remedy`` is what to do."""

    def __init__(self, reason: str, remedy: str = "choose another folder") -> None:
        super().__init__(reason)
        self.remedy = remedy


class DamagedTable(OSError):
    """A table of a sweep that cannot be read."""

    def __init__(self, path: str) -> None:
        super().__init__("this table of the sweep is damaged")
        self.path = path


def prepare(folder: str, settings: SweepSettings, *, resume: bool = True) -> None:
    """Make the folder, or check that it holds a sweep with the same settings. Raises NotOurs, OSError."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise NotOurs("this is a file")
    if path.exists() and any(path.iterdir()):
        known = settings_of(folder)
        if known is None:
            raise NotOurs("this folder holds something else than a sweep")
        if not resume:
            raise NotOurs("this folder holds a sweep already")
        if known != settings:
            raise NotOurs("this folder holds a sweep with other policies or teams")
        return
    path.mkdir(parents=True, exist_ok=True)
    _write(path / _SETTINGS, msgspec.json.format(settings.digest, indent=2), over=False)
    if settings_of(folder) != settings:
        raise NotOurs("another sweep has just begun in this folder")


@contextmanager
def held(folder: str) -> Iterator[None]:
    """Keep other sweeps out of a prepared folder: each would remove what it does not know. Raises NotOurs.

    Ends with the process, however it ends. Where the system or the storage knows no locks, nothing is kept out.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(Path(folder) / _SETTINGS, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another sweep is at work in this folder"
            raise NotOurs(reason, "wait until it has ended, or choose another folder") from None
        except OSError:
            pass
        yield


def is_sweep(folder: str) -> bool:
    """Whether a folder is that of a sweep."""
    return (Path(folder) / _SETTINGS).is_file()


def settings_of(folder: str) -> SweepSettings | None:
    """The settings of the sweep in a folder; ``None`` without one.

    Raises NotOurs for one of another version, and for one whose settings are damaged.
    """
    try:
        text = (Path(folder) / _SETTINGS).read_bytes()
    except OSError:
        return None
    try:
        settings = msgspec.json.decode(text, type=SweepSettings)
    except msgspec.DecodeError:
        if not (Path(folder) / "shards").is_dir():
            return None
        raise NotOurs(f"{_SETTINGS} of this sweep is damaged", "remove the folder, and sweep again") from None
    if settings.format != FORMAT:
        raise NotOurs("this sweep was made by another version of agentsim", "remove the folder, and sweep again")
    return settings


def note_of(folder: str, key: str) -> Note | None:
    """What a shard was made of; ``None`` while it is not finished."""
    try:
        return msgspec.json.decode((Path(folder) / "shards" / f"{key}.json").read_bytes(), type=Note)
    except (OSError, msgspec.DecodeError):
        return None


def finished(folder: str, key: str) -> bool:
    """Whether a shard has its note and all of its tables, whole as far as their ends tell."""
    return note_of(folder, key) is not None and all(_whole(_place(folder, name, key)) for name in _TABLES)


def _whole(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            begun = file.read(len(_MAGIC)) == _MAGIC
            file.seek(-len(_MAGIC), os.SEEK_END)
            return begun and file.tell() >= len(_MAGIC) and file.read() == _MAGIC
    except OSError:
        return False


def keep(folder: str, note: Note, tables: Iterable[tuple[str, pa.Table]]) -> None:
    """Write the tables of a shard, by name, then its note. Raises OSError."""
    import pyarrow.parquet as pq

    for name, table in tables:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        _write(_place(folder, name, note.key), buffer.getvalue())
    _write(Path(folder) / "shards" / f"{note.key}.json", msgspec.json.encode(note))


def forget_others(folder: str, keys: Iterable[str]) -> None:
    """Remove the results of all shards but these: of files that changed since, or are gone."""
    known = set(keys)
    for path in Path(folder).glob("*/shard-*.parquet"):
        if path.stem.removeprefix("shard-") not in known:
            path.unlink()
    for path in Path(folder).glob("shards/*.json"):
        if path.stem not in known:
            path.unlink()


def read(folder: str, name: str, keys: Iterable[str], columns: Sequence[str] | None = None) -> pa.Table | None:
    """A table over those shards that are finished, in the order of their keys; ``None`` without any. Raises Damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = []
    for key in sorted(keys):
        place = _place(folder, name, key)
        if not place.exists() and note_of(folder, key) is None:
            continue
        try:
            parts.append(pq.read_table(place, columns=None if columns is None else list(columns), partitioning=None))
        except (pa.ArrowException, OSError):
            raise DamagedTable(str(place)) from None
    return pa.concat_tables(parts) if parts else None


def keys_in(folder: str) -> list[str]:
    """The keys of finished shards, sorted."""
    return sorted(path.stem for path in Path(folder).glob("shards/*.json"))


def write_document(folder: str, name: str, document: object) -> None:
    """Write JSON beside the tables."""
    _write(Path(folder) / name, msgspec.json.format(msgspec.json.encode(document, order="deterministic"), indent=2))


def _place(folder: str, name: str, key: str) -> Path:
    return Path(folder) / name / f"shard-{key}.parquet"


def _write(path: Path, data: bytes, *, over: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        if over:
            os.replace(draft, path)
        else:
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            except OSError:  # a storage without links
                os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
