"""JSON from outside, decoded strictly: what does not fit is a :class:`BadRow`, whose words never quote the input."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

import msgspec

MAX_COUNT = 2**53
"""A larger token count cannot be meant, and other programs could not even read it exactly."""

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
"""A token count as a row may state it: a whole number from 0 to 2^53, written as a number."""


class BadRow(ValueError):
    """A row that cannot be used. ``reason`` is a few fixed words to count by, ``detail`` says which field."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T:
    """Decode a row. Raises BadRow, whose words tell the field but never its value."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None
    except RecursionError:
        raise BadRow("nested too deep") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise BadRow("broken JSON") from None


def counter(value: object, name: str = "") -> int | None:
    """A token count that a row states; ``None`` when it states none.

    Raises BadRow for a count that is negative, beyond 2^53, not a whole number, a truth value, or text that looks like
    a number: a program that writes those counts something else than tokens.
    """
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise BadRow("bad counter", name)
    return value


def _misfit(message: str) -> BadRow:
    match = _MESSAGE.match(message)
    said, path = (match[1], match[2] or "") if match else (message, "")
    if said.startswith(("Expected `object`", "Expected `array`")) and not path:
        return BadRow("not an object")
    if "`int" in said and "`object" not in said:
        return BadRow("bad counter", path)
    wanted = re.match(r"Expected `[a-z |]+`|Object missing required field `\w+`|Number out of range", said)
    return BadRow("bad field", ", ".join(filter(None, (path, wanted[0].lower() if wanted else ""))))


_MESSAGE = re.compile(r"^(.*?)(?: - at `\$\.?(.*)`)?$", re.DOTALL)
