"""The compiled table on disk: fast when it fits, harmless whatever is wrong with it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.rules.prices import price_store
from agentsim.rules.prices.price_table import PriceTable

WHEN = 1_795_000_000 * 10**9
ASK = f"""
import sys
from agentsim.rules.prices import rate_card
card = rate_card("anthropic", "claude-opus-5", {WHEN}, 1000)
print(card.fresh, "genai_prices" in sys.modules)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(price_store.cache_file())


def ask() -> tuple[str, bool]:
    """A price asked for in a new process, and whether the library was imported for it."""
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    price, imported = done.stdout.split()
    return price, imported == "True"


def test_the_library_is_imported_once_ever(cache):
    assert ask() == ("5000000", True)
    assert ask() == ("5000000", False)
    assert stat.S_IMODE(os.stat(cache).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(cache.parent).st_mode) == 0o700
    assert os.listdir(cache.parent) == [cache.name]  # nothing left beside it


def test_a_table_is_read_where_it_was_compiled_from_the_same_and_is_whole(cache):
    source, table = "library 1", PriceTable((), (), {}, 1)
    assert price_store._read(str(cache), source) is None
    price_store._write(str(cache), source, table)
    assert (cache.stat().st_mode & 0o777, cache.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert price_store._read(str(cache), source) == table
    assert price_store._read(str(cache), "library 2") is None
    cache.write_bytes(cache.read_bytes() + b" ")
    assert price_store._read(str(cache), source) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"\n",
        lambda data: data[:100],
        lambda data: data[:-1],
        lambda data: data[:-1000] + bytes(1000),
        lambda data: data.replace(b'"source":"', b'"source":"old '),
        lambda data: os.urandom(4096),
        lambda data: b"[" * 100_000,
        lambda data: b'{"source":1,"digest":2}\n',
    ],
)
def test_a_damaged_file_is_compiled_again(cache, damage):
    table = price_store.load_table()
    whole = cache.read_bytes()
    cache.write_bytes(damage(whole))
    assert price_store.load_table() == table
    assert cache.read_bytes() == whole


def test_another_version_of_the_library_is_read_anew(cache, monkeypatch):
    price_store.load_table()
    before = cache.read_bytes()
    monkeypatch.setattr(price_store, "FORMAT", price_store.FORMAT + 1)
    price_store.load_table()
    assert cache.read_bytes() != before


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert isinstance(price_store.load_table(), PriceTable)
    assert blocked.read_text() == "not a folder"


def test_a_relative_cache_folder_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/place")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Path(price_store.cache_file()) == tmp_path / ".cache" / "agentsim" / "prices.bin"


def test_compiling_twice_gives_the_same_bytes(cache):
    price_store.load_table()
    first = cache.read_bytes()
    cache.unlink()
    price_store.load_table()
    assert cache.read_bytes() == first
