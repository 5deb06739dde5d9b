"""Patterns of file names: ``*`` and ``?`` within a name, ``**`` across folders, ``[a-z]`` for one character."""

from __future__ import annotations

import os
import re


class GlobError(ValueError):
    """A pattern that can match nothing; the text says why."""


def pattern(glob: str) -> re.Pattern[str]:
    """The pattern as a regular expression on a path with slashes, relative to the folder of the configuration.

    Raises GlobError for one that is empty, absolute, leads out of the folder, or has a bracket that is not closed.
    """
    if not glob.strip():
        raise GlobError("is empty")
    if glob.startswith("/") or re.match(r"[A-Za-z]:", glob):
        raise GlobError("must be relative to the folder of the configuration")
    if "\\" in glob:
        raise GlobError("must be written with / between folders")
    parts = glob.removeprefix("./").split("/")
    if ".." in parts:
        raise GlobError("must not lead out of the folder of the configuration")
    if "" in parts:
        raise GlobError("has an empty name between slashes")
    expression = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            expression += ".*" if last else "(?:[^/]+/)*"
        else:
            expression += _name(part) + ("" if last else "/")
    return re.compile(expression)


def _name(part: str) -> str:
    if "**" in part:
        raise GlobError("has ** beside other characters; it stands for whole folders")
    expression, at = "", 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            expression += "[^/]*"
        elif character == "?":
            expression += "[^/]"
        elif character == "[":
            end = part.find("]", at + 2 if part[at : at + 1] == "!" else at + 1)
            if end < 0:
                raise GlobError("has a [ that is not closed")
            inside = part[at:end]
            negated = inside.startswith("!")
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[1:] if negated else inside)
            try:
                re.compile(f"[{body}]")
            except re.error:
                raise GlobError(f"has a bad range [{inside}]") from None
            expression += f"[{'^/' if negated else ''}{body}]"
            at = end + 1
        else:
            expression += re.escape(character)
    return expression


def matching_files(root: str, globs: tuple[str, ...]) -> list[str]:
    """The files under ``root`` that match any of the patterns, as paths joined to ``root``, sorted."""
    patterns = [pattern(glob) for glob in globs]
    found: set[str] = set()
    for start in sorted({_fixed(glob) for glob in globs}):
        top = os.path.join(root, *start.split("/")) if start else root
        if os.path.isfile(top):
            found.add(os.path.normpath(top))
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in files:
                path = os.path.join(folder, name)
                relative = relative_path(path, root)
                if any(expression.fullmatch(relative) for expression in patterns):
                    found.add(os.path.normpath(path))
    return sorted(found)


def relative_path(path: str, root: str) -> str:
    """A path as patterns and baselines name it: relative to ``root``, with slashes."""
    return os.path.relpath(path, root).replace(os.sep, "/")


def _fixed(glob: str) -> str:
    """The leading folders of a pattern that hold no wildcard."""
    fixed: list[str] = []
    for part in glob.removeprefix("./").split("/"):
        if any(character in part for character in "*?["):
            break
        fixed.append(part)
    return "/".join(fixed)
