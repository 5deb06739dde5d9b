"""The logs of a fleet, wherever they lie: local folders, object storage, compressed or not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from agentsim.core.session import Problem
from agentsim.traces.format_registry import head_of
from agentsim.traces.log_walk import LOG_ENDS, QUIET_ENDS, find

if TYPE_CHECKING:
    import fsspec

COMPRESSED = (".gz", ".zst")
"""Ends of compressed logs; what stands before them is the name of the log."""


_PIECE = 64 * 1024
"""How much is decompressed at once: of a log that is cut, less than this is lost before the cut."""

_BROKEN = "a compressed file that is cut or damaged"

_ENDS = tuple(end + more for end in (*LOG_ENDS, *QUIET_ENDS) for more in ("", *COMPRESSED))


class Input(msgspec.Struct, frozen=True, order=True):
    """A log: its path or URL, its size in bytes, and what changes when its content does (its time, or an ETag).

    ``root`` is the path it was found under, ``named`` whether it was given itself rather than found in a folder.
    """

    url: str
    size: int
    mark: str
    root: str = ""
    named: bool = False

    @property
    def name(self) -> str:
        """The URL without the end of a compression."""
        return without_compression(self.url)

    @property
    def remote(self) -> bool:
        """Whether it lies somewhere else than on this machine's disks."""
        return "://" in self.url

    @property
    def readable(self) -> bool:
        """Whether readers can open it where it is."""
        return not self.remote and self.name == self.url


def without_compression(url: str) -> str:
    """A path or URL without ``.gz`` or ``.zst`` at its end."""
    return next((url[: -len(end)] for end in COMPRESSED if url.endswith(end)), url)


def list_inputs(paths: Sequence[str], tell: Callable[[Problem], None]) -> list[Input]:
    """The logs at and under paths and URLs (``s3://``, ``gs://``, ``file://`` …), sorted, each once.

    What cannot be entered is told. Raises OSError for a URL whose storage cannot be reached, ValueError for one that
    no installed package serves.
    """
    found: dict[str, Input] = {}
    for path in sorted(set(paths)):
        for item in _remote(path, tell) if "://" in path else _local(path, tell):
            found.setdefault(item.url, item)
    return sorted(found.values())


def read_head(item: Input) -> bytes:
    """The first bytes of a log, decompressed. Raises OSError."""
    if item.readable:
        with open(item.url, "rb") as file:
            return head_of(file)
    try:
        with _open(item) as file:
            return head_of(file)
    except _broken() as error:
        raise OSError(_BROKEN) from error
    except OSError:
        raise
    except Exception as error:  # each storage and each decompressor has its own
        raise OSError(f"{type(error).__name__}: {error}") from error


@contextmanager
def at_hand(items: Sequence[Input], tell: Callable[[Problem], None]) -> Iterator[dict[str, str]]:
    """The logs as readable local files, and whose each is: URLs by path. Copies last as long as the context.

    A compressed log that is cut or damaged is there up to about that place, and told. Raises OSError for one that
    cannot be fetched, which may succeed another time.
    """
    with TemporaryDirectory(prefix="agentsim-") as folder:
        placed: dict[str, str] = {}
        for item in items:
            if item.readable:
                placed[item.url] = item.url
                continue
            target = os.path.join(folder, _below(item.name))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                with _open(item) as source, open(target, "wb") as copy:
                    shutil.copyfileobj(source, copy, _PIECE)
            except _broken():
                tell(Problem(file=item.url, line=0, reason=_BROKEN, remedy="compress the log again"))
            except OSError:
                raise
            except Exception as error:
                raise OSError(f"{type(error).__name__}: {error}") from error
            placed[target] = item.url
        yield placed


def _broken() -> tuple[type[Exception], ...]:
    """What decompressors raise over data that is no better another time."""
    import gzip
    import zlib

    found: list[type[Exception]] = [EOFError, gzip.BadGzipFile, zlib.error]
    with suppress(ImportError):
        import zstandard

        found.append(zstandard.ZstdError)
    return tuple(found)


def _below(url: str) -> str:
    """A relative path for a URL, that keeps its folders apart and cannot leave the folder it is put in."""
    parts = [part for part in url.replace("://", "/").split("/") if part not in ("", ".", "..")]
    return os.path.join(*parts)


def _open(item: Input) -> fsspec.core.OpenFile:
    import fsspec

    url = item.url if item.remote else f"file://{os.path.abspath(item.url)}"
    return fsspec.open(url, "rb", compression="infer")


def _local(path: str, tell: Callable[[Problem], None]) -> Iterator[Input]:
    for file in find((path,), tell, ends=_ENDS):
        try:
            status = os.stat(file.path)
        except OSError as error:
            reason = error.strerror or "cannot be read"
            tell(Problem(file=file.path, line=0, reason=reason, remedy="check that you may read it"))
            continue
        yield Input(file.path, status.st_size, str(status.st_mtime_ns), path, file.named)


def _remote(url: str, tell: Callable[[Problem], None]) -> Iterator[Input]:
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise ValueError(f"{url}: {error}") from None
    listed: dict[str, dict[str, Any]]
    if system.isfile(path):
        listed = {path: system.info(path)}
    else:
        listed = system.find(path, detail=True)
        if not listed:
            tell(Problem(file=url, line=0, reason="nothing is stored here", remedy="check the spelling"))
    for name in sorted(listed):
        named = name == path
        if named or name.endswith(_ENDS):
            info = listed[name]
            yield Input(system.unstrip_protocol(name), int(info.get("size") or 0), _mark(info), url, named)


def _mark(info: dict[str, Any]) -> str:
    for key in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "updated", "last_modified", "created"):
        if info.get(key):
            return str(info[key])
    return ""
