"""JSON in the time that a status line has: the scanner of the standard library without what ``import json`` brings.

That import takes longer than everything else a call does. Where the scanner is not there, ``json`` is used.
"""

from __future__ import annotations


class NotJson(ValueError):
    """A text that is no JSON document."""


class _Context:
    """What the scanner asks for."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012


def loads(data: bytes | str) -> object:
    """The document. Raises NotJson, whatever is wrong with it."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        text = text.strip(" \t\n\r")
        try:
            from _json import make_scanner
        except ImportError:
            from json import loads as whole

            found: object = whole(text)
            return found
        found, end = make_scanner(_Context())(text, 0)  # type: ignore[arg-type]
    except (ValueError, StopIteration, RecursionError, MemoryError) as error:
        raise NotJson(type(error).__name__) from None
    if end != len(text):
        raise NotJson("more than one document")
    return found


def dumps(value: object) -> str:
    """Numbers, texts, lists and mappings as JSON; ASCII."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(str(key))}:{dumps(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError(type(value).__name__)


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:
        from json.encoder import encode_basestring_ascii as quote
    return str(quote(text))


def table(value: object, key: str) -> dict[str, object]:
    """A mapping inside a mapping; an empty one where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


LARGEST = 2**53
"""Counts above this are no counts."""


def count(value: object, key: str) -> int | None:
    """A count inside a mapping: a whole number from 0 up; ``None`` where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, float) and 0 <= found <= LARGEST:
        found = int(found)
    return found if type(found) is int and 0 <= found <= LARGEST else None


def text(value: object, key: str, longest: int = 200) -> str | None:
    """A text inside a mapping, of printable ASCII; ``None`` where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    if (
        not isinstance(found, str)
        or not found
        or len(found) > longest
        or not found.isascii()
        or not found.isprintable()
    ):
        return None
    return found


def share(value: object, key: str, whole: int = 1000) -> int | None:
    """A share between 0 and 1 inside a mapping, in so many parts."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found <= 1:
        return round(found * whole)
    return None
