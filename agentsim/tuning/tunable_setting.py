"""The values that a settings file can bring about, from one table: ``tunable_settings.toml``."""

from __future__ import annotations

import os
import tomllib
from functools import cache
from typing import Any

import msgspec

from agentsim.diagnose.harness_settings import known_harness

FILE = os.path.join(os.path.dirname(__file__), "tunable_settings.toml")


class TunableSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What is written into the settings of a harness so that it follows a policy.

    ``settings`` maps keys to values, or to tables whose members are written. Settings of one ``slot`` exclude each
    other. ``since`` is the first version that has them, empty where that is not known.
    """

    harness: str
    slot: str
    policy: str
    settings: dict[str, Any]
    source: str
    since: str = ""

    @property
    def written(self) -> tuple[str, ...]:
        """Each value as a person writes it: ``promptCacheTtl = "1h"``, ``env.NAME = "1"``."""
        return tuple(f"{key} = {msgspec.json.encode(value).decode()}" for key, value in flat(self.settings))


def flat(settings: dict[str, Any], before: str = "") -> tuple[tuple[str, Any], ...]:
    """Settings as dotted keys and plain values."""
    found: list[tuple[str, Any]] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            found += flat(value, f"{before}{key}.")
        else:
            found.append((f"{before}{key}", value))
    return tuple(found)


def tunable_settings(harness: str | None) -> tuple[TunableSetting, ...]:
    """The settings of a harness that can be written."""
    known = known_harness(harness)
    if known is None:
        return ()
    return tuple(one for one in _table() if one.harness == known.name)


def tunable_harnesses() -> tuple[str, ...]:
    """The harnesses whose settings can be written."""
    return tuple(dict.fromkeys(one.harness for one in _table()))


@cache
def _table() -> tuple[TunableSetting, ...]:
    with open(FILE, "rb") as file:
        return msgspec.convert(tomllib.load(file)["setting"], tuple[TunableSetting, ...])
