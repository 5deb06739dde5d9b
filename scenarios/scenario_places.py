"""Where a key of a TOML file stands, and which keys could have stood there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

Loc = Sequence[int | str]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, loc: Loc) -> int | None:
    """The line (from 1) on which the innermost known part of a path stands; ``None`` where no part does."""
    wanted = list(loc)
    best: tuple[int, int] | None = None
    for number, path in _paths(text):
        common = _common(path, wanted)
        if common == len(path) and (best is None or common > best[0]):
            best = common, number
    return None if best is None else best[1]


def _paths(text: str) -> Iterator[tuple[int, list[int | str]]]:
    table: list[int | str] = []
    counts: dict[str, int] = {}
    # Not splitlines: TOML counts no other characters as ends of lines.
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.match(line)
        if header is not None:
            table = []
            names = _names(header[2])
            for depth, name in enumerate(names, 1):
                table.append(name)
                path = ".".join(names[:depth])
                if header[1] == "[[" and depth == len(names):
                    counts[path] = counts.get(path, -1) + 1
                if path in counts:
                    table.append(counts[path])
            yield number, list(table)
            continue
        key = _KEY.match(line)
        if key is not None:
            yield number, [*table, *_names(key[1])]


def _names(dotted: str) -> list[str]:
    return [name.strip("\"'") for name in _PART.findall(dotted)]


def _common(path: Loc, wanted: Loc) -> int:
    """How much of ``path`` leads to ``wanted``, whose tags of unions stand in no file."""
    done = 0
    for part in wanted:
        if done < len(path) and part == path[done]:
            done += 1
    return done


def nearest(root: type[BaseModel], loc: Loc) -> str | None:
    """The key that was meant by the last, unknown part of a path; ``None`` where no known one is like it."""
    known = known_keys(root, loc[:-1])
    near = get_close_matches(str(loc[-1]), known, 1, 0.55)
    return near[0] if near else None


def known_keys(root: type[BaseModel], loc: Loc) -> list[str]:
    """The keys of the table at a path."""
    models: list[type[BaseModel]] = [root]
    for part in loc:
        found: list[type[BaseModel]] = []
        for model in models:
            field = model.model_fields.get(part) if isinstance(part, str) else None
            if field is not None:
                found += _models_in(field.annotation)
        if found:
            models = found
        elif isinstance(part, str):
            # The tag of a union: it chooses among the models without going deeper.
            models = [model for model in models if part in (model.__name__, *_tags(model))] or models
    return list(dict.fromkeys(key for model in models for key in model.model_fields))


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("do")
    return () if field is None else get_args(field.annotation)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, list, tuple, dict) or get_args(annotation):
        return [model for part in get_args(annotation) for model in _models_in(part)]
    return []
