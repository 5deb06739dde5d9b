"""Lengths of time as requests write them: ``5m``, ``30m``, ``12h``."""

from __future__ import annotations

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DIGITS = 6


def seconds_of(text: str) -> int | None:
    """The seconds of a length of time such as ``30m`` or ``12h``; ``None`` when it is none."""
    number, unit = text[:-1], text[-1:]
    is_length = number.isascii() and number.isdecimal() and len(number) <= _DIGITS and unit in _SECONDS
    return int(number) * _SECONDS[unit] if is_length else None
