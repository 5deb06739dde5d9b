"""A count and what it counts, in words."""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """A ``number`` and what it counts, ``one`` or ``many``: ``1 request``, ``14 requests``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
