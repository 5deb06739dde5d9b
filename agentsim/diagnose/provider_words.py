"""What a provider's own word on a loss says in codes of causes. Loads the registry: ask only where there is a word."""

from __future__ import annotations

from functools import lru_cache

from agentsim.diagnose.cause_registry import CAUSES


@lru_cache(maxsize=64)
def answer_to(reason: str) -> str | None:
    """The code that says just what a provider's word says; ``None`` for a word that names no single cause."""
    return next((code for code, item in CAUSES.items() if reason in item.answers), None)


@lru_cache(maxsize=64)
def fitting(reason: str) -> frozenset[str]:
    """All codes that a provider's word agrees with: the plain answer to it, and every finer case of it."""
    return frozenset(code for code, item in CAUSES.items() if reason in item.answers or reason in item.fits)


def known_words() -> tuple[str, ...]:
    """All words that some cause agrees with."""
    return tuple(dict.fromkeys(word for item in CAUSES.values() for word in (*item.answers, *item.fits)))
