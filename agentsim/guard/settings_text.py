"""Edits a settings file as text, so that everything else in it stays as it is: order, indents, comments.

Settings are JSON; comments and commas behind the last member are put up with. A value is found with where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.guard.light_json import NotJson, dumps, loads

_SPACE = " \t\r\n\ufeff"
_DEEPEST = 100


class BadSettings(ValueError):
    """A settings file that is no JSON object, and where it stops being one."""


@dataclass(frozen=True)
class SettingsMember:
    """A member of an object, or (with an empty key) an element of a list."""

    key: str
    start: int
    value: SettingsNode


@dataclass(frozen=True)
class SettingsNode:
    """A value between two places of the text. ``kind`` is ``object``, ``array`` or ``plain``."""

    kind: str
    start: int
    end: int
    members: tuple[SettingsMember, ...] = ()

    def get(self, key: str) -> SettingsNode | None:
        """The last member of that name, which is the one that counts."""
        return next((member.value for member in reversed(self.members) if member.key == key), None)


def parse(text: str) -> SettingsNode:
    """The object that the text is. Raises BadSettings."""
    node, end = _value(text, _skip(text, 0), 0)
    if node.kind != "object" or _skip(text, end) != len(text):
        raise BadSettings(f"line {_line(text, end)}: not one JSON object")
    return node


def plain_value(text: str, node: SettingsNode) -> object:
    """What a value is, without the comments in it."""
    if node.kind == "object":
        return {member.key: plain_value(text, member.value) for member in node.members}
    if node.kind == "array":
        return [plain_value(text, member.value) for member in node.members]
    return loads(text[node.start : node.end])


def with_member(text: str, node: SettingsNode, key: str, value: object) -> str:
    """The text with a member set in an object: in its place, or behind the last one."""
    old = next((member for member in reversed(node.members) if member.key == key), None)
    indent = _indent(text, node)
    written = _written(value, indent)
    if old is not None:
        return text[: old.value.start] + written + text[old.value.end :]
    return _appended(text, node, f"{dumps(key)}: {written}", indent)


def with_element(text: str, node: SettingsNode, value: object) -> str:
    """The text with an element behind the last one of a list."""
    indent = _indent(text, node)
    return _appended(text, node, _written(value, indent), indent)


def without(text: str, node: SettingsNode, gone: SettingsMember) -> str:
    """The text without a member or an element, and without the comma that it no longer needs."""
    place = node.members.index(gone)
    if place + 1 < len(node.members):
        return text[: gone.start] + text[node.members[place + 1].start :]
    if place:
        before, after = node.members[place - 1].value.end, gone.value.end
        if (past := _past_comma(text, after)) != after:  # a comma behind the last member: the one before gets it back
            return text[: _past_comma(text, before)] + text[past:]
        return text[:before] + text[after:]
    return text[: node.start + 1] + text[node.end - 1 :]


def _past_comma(text: str, at: int) -> int:
    """Behind a comma after the last member, where there is one."""
    after = _skip(text, at)
    return after + 1 if text[after : after + 1] == "," else at


def _appended(text: str, node: SettingsNode, written: str, indent: str) -> str:
    if not node.members:
        outer = indent[: -len(_step(indent))] if indent else ""
        inside = text[node.start + 1 : node.end - 1].rstrip(_SPACE)
        return f"{text[: node.start + 1]}{inside}\n{indent}{written}\n{outer}{text[node.end - 1 :]}"
    end = node.members[-1].value.end
    rest = text[end:]
    comma = _past_comma(text, end)
    if comma != end:  # whoever wrote it puts a comma behind the last member as well
        return f"{text[:comma]}\n{indent}{written},{text[comma:]}"
    return f"{text[:end]},\n{indent}{written}{rest}"


def _indent(text: str, node: SettingsNode) -> str:
    """How far the members of a value are indented."""
    if node.members:
        start = text.rfind("\n", 0, node.members[0].start) + 1
        found = text[start : node.members[0].start]
        if not found.strip(" \t"):
            return found
    start = text.rfind("\n", 0, node.start) + 1
    line = text[start : node.start]
    own = line[: len(line) - len(line.lstrip(" \t"))]
    return own + (_step(own) or "  ")


def _step(indent: str) -> str:
    return "\t" if indent.startswith("\t") else "  "


def _written(value: object, indent: str) -> str:
    """A value over several lines, as people write settings."""
    inner = indent + _step(indent)
    if isinstance(value, dict) and value:
        lines = [f"{inner}{dumps(str(key))}: {_written(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{inner}{_written(item, inner)}" for item in value) + f"\n{indent}]"
    return dumps(value)


def _value(text: str, at: int, depth: int) -> tuple[SettingsNode, int]:
    if depth > _DEEPEST:
        raise BadSettings(f"line {_line(text, at)}: nested too deeply")
    opening = text[at : at + 1]
    if opening == "{":
        return _members(text, at, depth, "}", named=True)
    if opening == "[":
        return _members(text, at, depth, "]", named=False)
    end = _end_of_plain(text, at)
    try:
        loads(text[at:end])
    except NotJson:
        raise BadSettings(f"line {_line(text, at)}: not JSON") from None
    return SettingsNode("plain", at, end), end


def _members(text: str, start: int, depth: int, closing: str, *, named: bool) -> tuple[SettingsNode, int]:
    found: list[SettingsMember] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        begin, key = at, ""
        if named:
            end = _end_of_plain(text, at)
            try:
                name = loads(text[at:end])
            except NotJson:
                name = None
            at = _skip(text, end)
            if not isinstance(name, str) or text[at : at + 1] != ":":
                raise BadSettings(f"line {_line(text, begin)}: not a name and a colon")
            key, at = name, _skip(text, at + 1)
        node, end = _value(text, at, depth + 1)
        found.append(SettingsMember(key, begin, node))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise BadSettings(f"line {_line(text, at)}: neither a comma nor a {closing}")
    return SettingsNode("object" if named else "array", start, at + 1, tuple(found)), at + 1


def _end_of_plain(text: str, at: int) -> int:
    """Behind a text, a number or a word."""
    if text[at : at + 1] == '"':
        end = at + 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return end + 1
    end = at
    while end < len(text) and text[end] not in " \t\r\n,:]}/":
        end += 1
    return end


def _skip(text: str, at: int) -> int:
    """Past space and comments."""
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise BadSettings(f"line {_line(text, at)}: a comment without an end")
            at = end + 2
        else:
            break
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
