"""Python's search for cycles of garbage, put off while much is made that lives on. Nothing else switches it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Put the search off, which else costs half the time of a replay.

    Nearly all that a reader, a replay or a simulation makes is kept, so that the search looks at ever more and finds
    nothing; what is dropped has no cycles.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def keep_what_is_there() -> None:
    """Leave all objects of now out of the search for good: looking through them again and again would delay keys."""
    gc.freeze()


def search_seldom() -> None:
    """Search after every 5,000 new objects: what is made while a program starts lives on, and looking for garbage in it
    costs a twentieth of the start."""
    gc.set_threshold(5_000)
