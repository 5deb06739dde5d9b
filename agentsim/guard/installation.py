"""Puts the status line and the hooks into Claude Code's settings, and takes them out again. Nothing else is touched."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from typing import Literal

from agentsim.guard.private_files import place, read_table, write_table
from agentsim.guard.settings_text import (
    BadSettings,
    SettingsMember,
    SettingsNode,
    parse,
    plain_value,
    with_element,
    with_member,
    without,
)

Scope = Literal["user", "project", "local"]

EVENTS = ("UserPromptSubmit", "PreModelSwitch", "SessionStart", "PreCompact")
"""The events that are hooked; with a budget also each tool."""

WITH_BUDGET = "PostToolUse"
REFRESH = 5
"""Seconds between two draws of the status line while nothing happens: it counts down."""

SECONDS = 5
"""After so long the harness gives a hook up; it ends by itself long before."""


@dataclass(frozen=True)
class SettingsPlan:
    """What a settings file holds, and what it would hold."""

    file: str
    before: str | None
    after: str

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.after != (self.before if self.before is not None else "")


def settings_file(scope: Scope, folder: str | None = None) -> str:
    """The settings of the user, of the project in a folder, or of the user in that project."""
    if scope == "user":
        configured = os.environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
        home = os.environ.get("HOME") or os.path.expanduser("~")
        return os.path.join(configured or os.path.join(home, ".claude"), "settings.json")
    name = "settings.json" if scope == "project" else "settings.local.json"
    return os.path.join(folder or os.getcwd(), ".claude", name)


def command_line(word: str) -> str:
    """How a harness starts one of our commands: with this very Python, and nothing that takes time."""
    from agentsim.guard import at_once

    return f"{shlex.quote(sys.executable)} -I -S {shlex.quote(os.path.abspath(at_once.__file__))} {word}"


def is_ours(command: object, word: str) -> bool:
    """Whether a command of the settings is one of ours."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    ends = ("agentsim", os.path.join("agentsim", "guard", "at_once.py"))
    places = [
        number for number, part in enumerate(words) if part in ends or part.endswith(tuple(f"/{e}" for e in ends))
    ]
    return any(
        words[number + 1 : number + 2] == [word] or words[number + 1 : number + 3] == ["guard", word]
        for number in places
    )


def plan_install(file: str, *, status_line: bool = True, hooks: bool = True, budget: bool = False) -> SettingsPlan:
    """The settings with the status line and the hooks in them. Raises BadSettings, OSError."""
    before = read_settings(file)
    text = before if before is not None and before.strip() else "{}\n"
    if status_line:
        text = _with_status_line(text)
    if hooks:
        for event in (*EVENTS, *((WITH_BUDGET,) if budget else ())):
            text = _with_hook(text, event)
    _check(before, text)
    return SettingsPlan(file, before, text)


def plan_undo(file: str) -> SettingsPlan:
    """The settings without them. An untouched file becomes what it was, to the byte. Raises BadSettings, OSError."""
    before = read_settings(file)
    if before is None:
        return SettingsPlan(file, None, "")
    kept = read_table(_backup(file))
    if kept.get("after") == before and isinstance(kept.get("before"), str):
        return SettingsPlan(file, before, str(kept["before"]))
    text = before
    while (found := _our_hook(parse(text), text)) is not None:
        node, member = found
        text = without(text, node, member)
    root = parse(text)
    line = root.get("statusLine")
    command = None if line is None else line.get("command")
    if line is not None and command is not None and is_ours(plain_value(text, command), "statusline"):
        words = shlex.split(str(plain_value(text, command)))
        if "--wrap" in words[:-1]:
            text = with_member(text, line, "command", words[words.index("--wrap") + 1])
        else:
            text = without(text, root, next(m for m in reversed(root.members) if m.key == "statusLine"))
    return SettingsPlan(file, before, text)


def apply(plan: SettingsPlan, *, undo: bool = False) -> None:
    """Write the file, and keep what it was; after an undo what was kept is forgotten. Raises OSError."""
    os.makedirs(os.path.dirname(plan.file) or ".", exist_ok=True)
    backup = _backup(plan.file)
    if undo:
        kept = read_table(backup)
        if kept.get("missing") is True and kept.get("after") == plan.before:
            os.unlink(plan.file)
        else:
            replace_settings(plan.file, plan.after)
        if os.path.exists(backup):
            os.unlink(backup)
        return
    kept = read_table(backup)
    again = plan.before is not None and kept.get("after") == plan.before
    first = kept.get("before") if again else plan.before or ""
    missing = kept.get("missing") is True if again else plan.before is None
    replace_settings(plan.file, plan.after)
    write_table(backup, {"file": plan.file, "before": first, "after": plan.after, "missing": missing})


def installed(file: str) -> tuple[bool, tuple[str, ...]]:
    """Whether the status line is ours, and which events ask our hook. Raises BadSettings, OSError."""
    text = read_settings(file)
    if text is None or not text.strip():
        return False, ()
    root = parse(text)
    line = root.get("statusLine")
    command = None if line is None else line.get("command")
    ours = command is not None and is_ours(plain_value(text, command), "statusline")
    hooks = root.get("hooks")
    events = [
        member.key
        for member in (hooks.members if hooks is not None else ())
        if any(_has_our_command(text, group.value) for group in member.value.members)
    ]
    return ours, tuple(events)


def _with_status_line(text: str) -> str:
    root = parse(text)
    line = root.get("statusLine")
    command = None if line is None or line.kind != "object" else line.get("command")
    ours = command_line("statusline")
    if line is None or command is None:
        return with_member(text, root, "statusLine", {"type": "command", "command": ours, "refreshInterval": REFRESH})
    old = plain_value(text, command)
    if is_ours(old, "statusline") or not isinstance(old, str):
        return text
    return with_member(text, line, "command", f"{ours} --wrap {shlex.quote(old)}")


def _with_hook(text: str, event: str) -> str:
    entry = {"hooks": [{"type": "command", "command": command_line("hook"), "timeout": SECONDS}]}
    root = parse(text)
    hooks = root.get("hooks")
    if hooks is None:
        return with_member(text, root, "hooks", {event: [entry]})
    if hooks.kind != "object":
        raise BadSettings("hooks: not an object")
    groups = hooks.get(event)
    if groups is None:
        return with_member(text, hooks, event, [entry])
    if groups.kind != "array":
        raise BadSettings(f"hooks.{event}: not a list")
    if any(_has_our_command(text, group.value) for group in groups.members):
        return text
    return with_element(text, groups, entry)


def _has_our_command(text: str, group: SettingsNode) -> bool:
    return any(_is_our_entry(text, entry) for entry in _entries(group))


def _entries(group: SettingsNode) -> tuple[SettingsMember, ...]:
    inside = group.get("hooks")
    return inside.members if inside is not None else ()


def _is_our_entry(text: str, entry: SettingsMember) -> bool:
    command = entry.value.get("command")
    return command is not None and is_ours(plain_value(text, command), "hook")


def _our_hook(root: SettingsNode, text: str) -> tuple[SettingsNode, SettingsMember] | None:
    """What is to be taken out next: one of our entries; its group, its event or all hooks where nothing else is in
    them."""
    hooks = root.get("hooks")
    for event in hooks.members if hooks is not None else ():
        for group in event.value.members:
            for entry in _entries(group.value):
                if not _is_our_entry(text, entry):
                    continue
                inside = group.value.get("hooks")
                assert hooks is not None
                assert inside is not None
                if len(inside.members) > 1:
                    return inside, entry
                if len(event.value.members) > 1:
                    return event.value, group
                if len(hooks.members) > 1:
                    return hooks, event
                return root, next(member for member in reversed(root.members) if member.key == "hooks")
    return None


def _check(before: str | None, after: str) -> None:
    """See that nothing but ours has changed: what was there is still there."""
    old = plain_value(before, parse(before)) if before is not None and before.strip() else {}
    new = plain_value(after, parse(after))
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    lost = [key for key in old if key not in ("hooks", "statusLine") and new.get(key) != old[key]]
    if lost:
        raise BadSettings(f"cannot be edited safely: {', '.join(lost)} would change")


def read_settings(file: str) -> str | None:
    """The text of a settings file, ``None`` where there is none. Raises BadSettings where it is not UTF-8, OSError."""
    try:
        with open(file, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise BadSettings("not UTF-8") from None


def replace_settings(file: str, text: str) -> None:
    """Write a file in the place of the old one, which may be a link, with the old one's mode."""
    target = os.path.realpath(file)
    draft = f"{target}.{os.getpid()}"
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o644
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    os.replace(draft, target)


def _backup(file: str) -> str:
    from hashlib import sha256

    name = sha256(os.path.realpath(file).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return place("settings", f"{name}.json")
