"""Parameters from a command line (``a.b=1,2,4``), and the scenarios that result from trying all their values."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import product
from typing import Any

Setting = tuple[str, tuple[Any, ...]]
"""The path of a key, and the values that it takes in turn."""

MOST_CELLS = 1_000


class SweepError(ValueError):
    """A parameter that cannot be set."""


def parse_setting(text: str) -> Setting:
    """``path=value`` or ``path=value,value``; values are TOML, a bare word is a string. Raises SweepError."""
    path, sign, values = text.partition("=")
    path = path.strip()
    if not sign or not path or not all(path.split(".")):
        raise SweepError(f"expected KEY=VALUE or KEY=VALUE,VALUE, not {text[:60]!r}")
    return path, tuple(_value(part.strip(), path) for part in _split(values))


def cells(document: Mapping[str, Any], settings: Iterable[Setting]) -> list[tuple[tuple[tuple[str, Any], ...], Any]]:
    """Every combination of values: what was set in it, and the document with that. Raises SweepError."""
    axes: dict[str, tuple[Any, ...]] = {}
    sweep = document.get("sweep", {})
    if isinstance(sweep, dict):
        axes.update({path: tuple(values) for path, values in sweep.items() if isinstance(values, list) and values})
    for path, values in settings:
        axes[path] = values
    count = 1
    for values in axes.values():
        count *= len(values)
        if count > MOST_CELLS:
            raise SweepError(f"more than {MOST_CELLS:,} combinations")
    result = []
    for combination in product(*axes.values()):
        changed = copy.deepcopy(dict(document))
        for path, value in zip(axes, combination, strict=True):
            put(changed, path, value)
        label = tuple((path, value) for (path, values), value in zip(axes.items(), combination, strict=True))
        result.append((tuple(pair for pair in label if len(axes[pair[0]]) > 1), changed))
    return result


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; tables on the way are made where there are none. Raises SweepError."""
    *way, last = path.split(".")
    here: Any = document
    for name in way:
        if isinstance(here, list):
            here = here[_index(here, name, path)]
        elif isinstance(here, dict):
            if not isinstance(here.get(name), dict | list):
                here[name] = {}
            here = here[name]
        else:
            raise SweepError(f"{path}: there is no table at {name!r}")
    if isinstance(here, list):
        here[_index(here, last, path)] = value
    elif isinstance(here, dict):
        here[last] = value
    else:
        raise SweepError(f"{path}: there is no table to set {last!r} in")


def _index(items: list[Any], name: str, path: str) -> int:
    if name.isascii() and name.isdecimal() and int(name) < len(items):
        return int(name)
    raise SweepError(f"{path}: expected a number from 0 to {len(items) - 1}, not {name!r}")


def _value(text: str, path: str) -> Any:
    if not text:
        raise SweepError(f"{path}: a value is missing")
    try:
        return tomllib.loads(f"value = {text}", parse_float=Decimal)["value"]
    except tomllib.TOMLDecodeError:
        return text


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no bracket and no quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
