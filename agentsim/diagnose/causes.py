"""Every cause that a verdict can name: its code, what it means, how to confirm it and what to do about it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("causes.toml")


class Cause(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A cause. ``code`` never changes its meaning; ``slug`` is its short name. The texts are plain prose."""

    code: str
    slug: str
    title: str
    meaning: str
    how_to_confirm: str
    fix: str


@lru_cache(maxsize=1)
def causes() -> dict[str, Cause]:
    """All causes by code, in the order of their codes. The file is read on the first call."""
    import tomllib

    with FILE.open("rb") as file:
        tables = tomllib.load(file)
    return {
        code: Cause(
            code=code,
            slug=table["slug"],
            title=table["title"],
            meaning=_one_line(table["meaning"]),
            how_to_confirm=_one_line(table["confirm"]),
            fix=_one_line(table["fix"]),
        )
        for code, table in tables.items()
    }


def cause(code: str) -> Cause:
    """The cause with this code; a slug will do, in any case of letters. Raises KeyError for an unknown one."""
    known = causes()
    found = known.get(code.upper())
    if found is not None:
        return found
    for item in known.values():
        if item.slug == code.lower():
            return item
    raise KeyError(code)


def _one_line(text: str) -> str:
    return " ".join(text.split())
