"""Every cause that a verdict can name: its code, what it means, how to confirm it and what to do about it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

FILE = os.path.join(os.path.dirname(__file__), "causes.toml")


class Cause(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A cause. ``code`` never changes its meaning; ``slug`` is its short name. The texts are plain prose. ``answers``
    are the words of a provider's diagnosis that say just this, ``fits`` those that it is a finer case of."""

    code: str
    slug: str
    title: str
    meaning: str
    how_to_confirm: str
    fix: str
    answers: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()


def cause(code: str) -> Cause:
    """The cause with this code; a slug will do, in any case of letters. Raises KeyError for an unknown one."""
    found = CAUSES.get(code.upper())
    if found is not None:
        return found
    for item in CAUSES.values():
        if item.slug == code.lower():
            return item
    raise KeyError(code)


def _load() -> dict[str, Cause]:
    with open(FILE, "rb") as file:
        tables = tomllib.load(file)
    return {
        code: Cause(
            code=code,
            slug=table["slug"],
            title=table["title"],
            meaning=_one_line(table["meaning"]),
            how_to_confirm=_one_line(table["confirm"]),
            fix=_one_line(table["fix"]),
            answers=tuple(table.get("answers", ())),
            fits=tuple(table.get("fits", ())),
        )
        for code, table in tables.items()
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


CAUSES: Mapping[str, Cause] = MappingProxyType(_load())
"""All causes by code, in the order of their codes. Read when this module is imported, which takes some 10 ms: import it
where an explanation is wanted."""
