"""Where rules files are: those that come with the program, and those that a user brings along."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from agentsim.core.file_problems import refused
from agentsim.core.near_words import did_you_mean
from agentsim.core.written_files import read_text
from agentsim.rules.providers.rules_document import RulesFile
from agentsim.rules.providers.rules_parsing import parse_rules

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ALIASES = re.compile(r"^aliases = \[([^\]]*)\]", re.MULTILINE)

_FOLDER = os.path.dirname(__file__)
"""Plain text: the module for better paths takes longer to import than a file of rules takes to read."""

_LISTED = "'agentsim rules show' lists those that are known"

_brought: dict[str, RulesFile] = {}
"""The user's files, by provider and by alias. They stand in front of the bundled ones."""


def load_rules(provider: str) -> RulesFile:
    """The rules file of a provider, found by its name or by one of its aliases.

    Raises WrittenFileError when there is none.
    """
    name = provider.strip().lower()
    if (brought := _brought.get(name)) is not None:
        return brought
    bundled = _bundled(name)
    if bundled is None:
        raise refused(
            f"no rules are known for the provider {provider[:64]!r}", did_you_mean(name, provider_names(), _LISTED)
        )
    return bundled


def base_of(file: RulesFile, model: str, when: int | None) -> RulesFile | None:
    """The file that ``file`` refers to for a ``model`` at a time (``when``).

    One that names its own provider means the bundled one.
    """
    name = file.base(model, when)
    if name is None:
        return None
    if name == file.provider:
        found = _bundled(name)
        if found is None or found is file:
            raise refused(f"no bundled rules are known for {name!r}", _LISTED, file=file.file)
        return found
    return load_rules(name)


def provider_names() -> tuple[str, ...]:
    """All providers that rules are known for, in alphabetical order; the user's own among them."""
    return tuple(sorted({*_bundled_names(), *(file.provider for file in _brought.values())}))


def bundled_names() -> tuple[str, ...]:
    """The providers whose rules come along, by their names and by the others under which they are known."""
    return (*_bundled_names(), *_bundled_aliases())


def brought_files() -> tuple[RulesFile, ...]:
    """The files that the user brought along."""
    return tuple({file.file: file for file in _brought.values()}.values())


def read_rules_file(path: str) -> RulesFile:
    """A file of the user's. Raises WrittenFileError."""
    return parse_rules(read_text(path, LARGEST), path)


def bring(file: RulesFile) -> None:
    """Let a file stand for its provider from now on, in front of a bundled one of that name."""
    for name in (file.provider, *file.aliases):
        _brought[name] = file
    _look_again()


@contextmanager
def with_rules(*brought: RulesFile) -> Iterator[None]:
    """Bring files along for a while."""
    before = dict(_brought)
    try:
        for file in brought:
            bring(file)
        yield
    finally:
        _brought.clear()
        _brought.update(before)
        _look_again()


def _look_again() -> None:
    from agentsim.rules.prices.price_book import use_own_prices
    from agentsim.rules.providers import forget_resolved

    forget_resolved()
    use_own_prices({name: file.prices for name, file in _brought.items() if file.prices})


LARGEST = 2**20
"""Bytes."""


@cache
def _bundled(name: str) -> RulesFile | None:
    if not _NAME.fullmatch(name):
        return None
    if name not in _bundled_names():
        alias = _bundled_aliases().get(name)
        return None if alias is None else _bundled(alias)
    with open(_place(name), encoding="utf-8") as stream:
        return parse_rules(stream.read(), f"{name}.toml")


@cache
def _bundled_names() -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".toml") for name in os.listdir(_FOLDER) if name.endswith(".toml")))


@cache
def _bundled_aliases() -> dict[str, str]:
    """Which provider each alias means. Only the beginning of each file is looked at: reading all would take long."""
    found: dict[str, str] = {}
    for name in _bundled_names():
        with open(_place(name), encoding="utf-8") as stream:
            stated = _ALIASES.search(stream.read(4096))
        for alias in re.findall(r'"([^"]+)"', stated.group(1)) if stated else ():
            found[alias] = name
    return found


def _place(name: str) -> str:
    return os.path.join(_FOLDER, f"{name}.toml")
