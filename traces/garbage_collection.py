"""Python's search for cycles of garbage, put off while much is made that lives on."""

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
