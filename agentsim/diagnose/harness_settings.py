"""What a user of a harness can set against a lost cache: from one table, ``harness_settings.toml``.

A cause says what happened; this says which setting of which program bears on it, since which version, and where that is
known from. Where the table holds nothing for a harness and a cause, nothing is said.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from typing import Any

import msgspec

from agentsim.core.session import EventKind, Request, Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import CAUSES

FILE = os.path.join(os.path.dirname(__file__), "harness_settings.toml")


class KnownHarness(msgspec.Struct, frozen=True, kw_only=True):
    """A harness whose settings are known: the version that was looked at, and how to record the bodies it sends."""

    name: str
    title: str
    looked_at: str
    record: str


class HarnessSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of a harness, for some causes and policies.

    ``set`` is what to write and ``where`` the place; both are empty where the program offers nothing, which ``effect``
    then says. ``since`` is the first version that has it, empty where that is not known. ``providers`` and ``purposes``
    narrow it to some requests; empty: it holds for all. ``is_limit``: its value is the number of tokens at which a
    conversation is compacted.
    """

    harness: str
    set: str
    effect: str
    source: str
    where: str = ""
    since: str = ""
    causes: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    is_limit: bool = False

    @property
    def words(self) -> str:
        """It in words: what to set, where, and what that does."""
        if not self.set:
            return self.effect
        return f"Set {self.set} {'on' if self.where.endswith('command line') else 'in'} {self.where}. {self.effect}"


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """What an event in front of a lost cache points to, for causes whose place no log shows."""

    event: EventKind
    causes: tuple[str, ...]
    text: str


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    harnesses: dict[str, KnownHarness]
    settings: tuple[HarnessSetting, ...]
    suspects: tuple[Suspect, ...]


@cache
def _table() -> _Table:
    with open(FILE, "rb") as file:
        data: dict[str, Any] = tomllib.load(file)
    return _Table(
        harnesses={
            name: msgspec.convert({"name": name, **told}, KnownHarness) for name, told in data["harness"].items()
        },
        settings=msgspec.convert(data["setting"], tuple[HarnessSetting, ...]),
        suspects=msgspec.convert(data["suspect"], tuple[Suspect, ...]),
    )


def known_harnesses() -> tuple[KnownHarness, ...]:
    """All harnesses that the table knows, in its order."""
    return tuple(_table().harnesses.values())


def known_harness(name: str | None) -> KnownHarness | None:
    """The harness that a session's log or a person calls so; ``None`` for one that the table does not know."""
    words = (name or "").strip().lower().replace("_", "-").replace(" ", "-")
    table = _table().harnesses
    for tried in (words, f"{words}-cli", f"{words}-code", words.partition("/")[0]):
        if tried in table:
            return table[tried]
    return None


def settings_for(
    harness: str | None,
    *,
    cause: str | None = None,
    policy: str | None = None,
    version: str | None = None,
    provider: str | None = None,
    purpose: str | None = None,
) -> tuple[HarnessSetting, ...]:
    """The settings of a harness that bear on a cause or stand for a policy, the first to try first.

    What is given narrows them: those of other providers and purposes, and those that a version does not have yet, are
    left out. An unknown harness has none.
    """
    known = known_harness(harness)
    if known is None:
        return ()
    return tuple(
        one
        for one in _table().settings
        if one.harness == known.name
        and (cause is None or cause in one.causes)
        and (policy is None or policy in one.policies)
        and (provider is None or not one.providers or provider in one.providers)
        and (purpose is None or not one.purposes or purpose in one.purposes)
        and not is_older(version, one.since)
    )


def settings_of(verdict: Verdict, request: Request, harness: str | None) -> tuple[HarnessSetting, ...]:
    """The settings of the harness for the cause of one verdict; empty where none is known or nothing was lost."""
    if verdict.kind != "miss" or verdict.cause is None:
        return ()
    return settings_for(
        harness,
        cause=verdict.cause,
        version=request.harness_version,
        provider=request.provider,
        purpose=request.purpose,
    )


def suspects_of(verdict: Verdict, session: Session) -> tuple[str, ...]:
    """What the log itself points to, for a loss whose place it cannot show: the events right in front of the row."""
    if verdict.kind != "miss" or verdict.place is not None:
        return ()
    by_event = {one.event: one.text for one in _table().suspects if verdict.cause in one.causes}
    if not by_event:
        return ()
    found = dict.fromkeys(
        by_event[event.kind] for event in session.events if event.before == verdict.request and event.kind in by_event
    )
    return tuple(found)


def recipe_for(verdict: Verdict, harness: str | None) -> str | None:
    """How to record what this harness sends, for a loss whose place no log shows; ``None`` for other losses."""
    known = known_harness(harness)
    if known is None or verdict.kind != "miss" or verdict.place is not None or verdict.cause not in WITHOUT_PLACE:
        return None
    return known.record


WITHOUT_PLACE = frozenset(one.code for one in CAUSES.values() if one.placeless)
"""Causes that only bodies can settle."""


def is_older(version: str | None, since: str) -> bool:
    """Whether a version is known not to have what came with another one."""
    ours, theirs = _numbers(version), _numbers(since)
    return bool(ours and theirs) and ours < theirs


def _numbers(version: str | None) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in (version or "").split("-")[0].split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
