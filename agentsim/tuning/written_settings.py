"""Writes chosen settings into the settings of Claude Code, and takes them out again. Nothing else is touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agentsim.guard.installation import SettingsPlan, read_settings, replace_settings
from agentsim.guard.settings_text import BadSettings, SettingsNode, parse, plain_value, with_member, without
from agentsim.tuning.tunable_setting import flat


def plan_settings(file: str, settings: Mapping[str, Any]) -> SettingsPlan:
    """The file with these settings in it. Raises BadSettings, OSError."""
    before = read_settings(file)
    text = before if before is not None and before.strip() else "{}\n"
    for key, value in flat(dict(settings)):
        text = _with(text, key.split("."), value)
    return SettingsPlan(file, before, text)


def values_before(file: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What each of these settings is in the file now, by its dotted key; ``None`` for one that is not set. Raises
    BadSettings, OSError."""
    text = read_settings(file)
    if text is None or not text.strip():
        return dict.fromkeys((key for key, _ in flat(dict(settings))), None)
    return {key: _value(text, key.split(".")) for key, _ in flat(dict(settings))}


def plan_restored(file: str, written: Mapping[str, Any], before: Mapping[str, Any]) -> SettingsPlan:
    """The file with its old values: each setting that still is what was written becomes what it was before; one that
    somebody changed since stays. Raises BadSettings, OSError."""
    text = read_settings(file)
    if text is None:
        return SettingsPlan(file, None, "")
    now = text
    for key, value in written.items():
        path = key.split(".")
        if _value(now, path) == value:
            now = _without(now, path) if before.get(key) is None else _with(now, path, before[key])
    return SettingsPlan(file, text, now)


def write_settings(plan: SettingsPlan) -> None:
    """Put the file in the place of the old one. Raises OSError."""
    os.makedirs(os.path.dirname(plan.file) or ".", exist_ok=True)
    replace_settings(plan.file, plan.after)


def _value(text: str, path: list[str]) -> Any:
    node: SettingsNode | None = parse(text)
    for key in path:
        node = None if node is None or node.kind != "object" else node.get(key)
    return None if node is None else plain_value(text, node)


def _with(text: str, path: list[str], value: Any) -> str:
    node = parse(text)
    for number, key in enumerate(path[:-1]):
        inside = node.get(key)
        if inside is None:
            for outer in reversed(path[number + 1 :]):
                value = {outer: value}
            return with_member(text, node, key, value)
        if inside.kind != "object":
            raise BadSettings(f"{'.'.join(path[: number + 1])}: not an object")
        node = inside
    if node.get(path[-1]) is not None and _value(text, path) == value:
        return text
    return with_member(text, node, path[-1], value)


def _without(text: str, path: list[str]) -> str:
    """The text without a value, and without the object around it where that is then empty."""
    holder = parse(text)
    chain = [holder]
    for key in path[:-1]:
        inside = chain[-1].get(key)
        if inside is None:
            return text
        chain.append(inside)
    depth = len(chain) - 1
    while depth and len(chain[depth].members) == 1:
        depth -= 1
    gone = next((member for member in reversed(chain[depth].members) if member.key == path[depth]), None)
    return text if gone is None else without(text, chain[depth], gone)
