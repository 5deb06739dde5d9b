"""Did you mean ...? The one answer to a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable

LIKE = 0.55
"""How alike two words must be, from 0 to 1."""


def nearest(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """At most ``count`` of the ``known`` words that are most like ``word``, best first, whatever its case and whether
    it has hyphens or underscores."""
    from difflib import get_close_matches

    folded = {_folded(name): name for name in known}
    return [folded[near] for near in get_close_matches(_folded(word[:60]), list(folded), count, LIKE)]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """``did you mean X?`` of the ``known`` words; ``otherwise`` where none is near ``word``."""
    near = nearest(word, known)
    return f"did you mean {near[0]}?" if near else otherwise


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")
