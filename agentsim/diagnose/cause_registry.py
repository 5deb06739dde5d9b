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
    are the words of a provider's diagnosis that say just this, ``fits`` those that it is a finer case of.

    ``within`` is the code of the coarser cause that it lies in, where there is one. ``policy`` is the name of the
    policy that undoes it, ``undone_by`` that of the bound over automatic caches which counts it. ``settings`` are the
    settings of a request that it is about. ``prefix_kept``: the prompt was what it had been. ``placeless``: only bodies
    show what happened."""

    code: str
    slug: str
    title: str
    meaning: str
    how_to_confirm: str
    fix: str
    answers: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()
    within: str | None = None
    policy: str | None = None
    undone_by: str | None = None
    settings: tuple[str, ...] = ()
    prefix_kept: bool = False
    placeless: bool = False

    @property
    def group(self) -> str:
        """The title of the group that its code begins with."""
        return GROUPS[self.code[:3]]


def cause(code: str) -> Cause:
    """The cause with this code; a slug will do, in any case of letters. Raises KeyError for an unknown one."""
    found = CAUSES.get(code.upper())
    if found is not None:
        return found
    for item in CAUSES.values():
        if item.slug == code.lower():
            return item
    raise KeyError(code)


def lies_within(code: str, other: str) -> bool:
    """Whether a cause is a finer case of another one, at whatever depth. No cause lies within itself."""
    found = CAUSES.get(code)
    while found is not None and found.within is not None:
        if found.within == other:
            return True
        found = CAUSES.get(found.within)
    return False


def finer_than(code: str) -> frozenset[str]:
    """The causes that lie within this one."""
    return frozenset(other for other in CAUSES if lies_within(other, code))


def _load() -> tuple[dict[str, str], dict[str, Cause]]:
    with open(FILE, "rb") as file:
        tables = tomllib.load(file)
    groups = tables.pop("groups")
    return groups, {
        code: Cause(
            code=code,
            slug=table["slug"],
            title=table["title"],
            meaning=_one_line(table["meaning"]),
            how_to_confirm=_one_line(table["confirm"]),
            fix=_one_line(table["fix"]),
            answers=tuple(table.get("answers", ())),
            fits=tuple(table.get("fits", ())),
            within=table.get("within"),
            policy=table.get("policy"),
            undone_by=table.get("undone_by"),
            settings=tuple(table.get("settings", ())),
            prefix_kept=table.get("prefix_kept", False),
            placeless=table.get("placeless", False),
        )
        for code, table in tables.items()
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


_groups, _causes = _load()

GROUPS: Mapping[str, str] = MappingProxyType(_groups)
"""The titles of the groups of causes, by what their codes begin with."""

CAUSES: Mapping[str, Cause] = MappingProxyType(_causes)
"""All causes by code, in the order of their codes. Read when this module is imported, which takes some 10 ms: import it
where an explanation is wanted."""
