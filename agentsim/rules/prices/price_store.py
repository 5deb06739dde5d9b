"""Keeps the compiled price table on disk: importing the price library takes 0.2 s, reading the table 2 ms. Paths are
plain text here: the module for better ones takes longer to import than the table takes to read.

The file is a header line (what it was compiled from, and a digest of the rest) and the table. Whatever is wrong with it
or with the folder, the table is compiled again; nothing is ever reported, since nothing is lost but time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os

import msgspec

from agentsim.rules.prices.price_table import PriceTable

ADDITIONS = os.path.join(os.path.dirname(__file__), "prices.toml")
"""What the price library lacks."""

FORMAT = 9
"""Raised whenever the layout of the table or the way it is compiled changes."""

LARGEST = 16 * 2**20
"""Bytes; a larger file is not ours."""


class Header(msgspec.Struct, frozen=True):
    """The first line of the file."""

    source: str
    digest: str


def load_table() -> PriceTable:
    """The compiled table, from disk if it was compiled from the very library that is installed, else afresh.

    Reads and may write one file under the user's cache folder. Raises ImportError when the price library is missing.
    """
    source, path = _source(), cache_file()
    table = _read(path, source) if source else None
    if table is None:
        from agentsim.rules.prices.price_library import (
            compile_table,  # imported only here: it takes longer than all the rest
        )

        with open(ADDITIONS, encoding="utf-8") as file:
            table = compile_table(file.read())
        if source:
            _write(path, source, table)
    return table


def cache_file() -> str:
    """Where the table is kept: ``$XDG_CACHE_HOME/agentsim`` or ``~/.cache/agentsim``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of these folders: a path that is not absolute is to be ignored.
    folder = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "agentsim", "prices.bin")


def _source() -> str | None:
    """What the table depends on: the library's data, found without importing it, our additions, and our format."""
    try:
        spec = importlib.util.find_spec("genai_prices")
        folders = spec.submodule_search_locations if spec is not None else None
        if not folders:
            return None
        data = os.path.join(folders[0], "data.py")
        state = os.stat(data)
        with open(ADDITIONS, "rb") as file:
            additions = _digest(file.read())
    except (OSError, ImportError, ValueError):
        return None
    return f"{FORMAT} {data} {state.st_size} {state.st_mtime_ns} {additions}"


def _read(path: str, source: str) -> PriceTable | None:
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.read(min(os.fstat(file.fileno()).st_size, LARGEST))
        end = content.find(b"\n")
        if end < 0:
            return None
        header = msgspec.json.decode(content[:end], type=Header)
        body = memoryview(content)[end + 1 :]
        if header.source != source or header.digest != _digest(body):
            return None
        return msgspec.msgpack.decode(body, type=PriceTable)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def _write(path: str, source: str, table: PriceTable) -> None:
    """Whole or not at all: written beside its place, then moved there."""
    body = msgspec.msgpack.encode(table)
    content = msgspec.json.encode(Header(source, _digest(body))) + b"\n" + body
    beside = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(beside, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(beside)


def _digest(body: bytes | memoryview) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()
