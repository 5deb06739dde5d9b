"""A hook that takes too long ends by itself, with nothing to say: the harness goes on."""

from __future__ import annotations

import os
from collections.abc import Callable

_late: list[Callable[[], None]] = []


def limit(milliseconds: int, told: Callable[[], None] | None = None) -> None:
    """End this process, as if it had nothing to say, when it is not done by then; ``told`` is called first."""
    _late[:] = [] if told is None else [told]
    try:
        # `signal` builds enumerations, which takes longer than the rest of a hook.
        import _signal  # type: ignore[import-not-found]

        _signal.signal(_signal.SIGALRM, _end)
        _signal.setitimer(_signal.ITIMER_REAL, milliseconds / 1000)
    except (ImportError, AttributeError, ValueError, OSError):
        return


def no_limit() -> None:
    """Take the limit away."""
    try:
        import _signal

        _signal.setitimer(_signal.ITIMER_REAL, 0)
    except (ImportError, AttributeError, ValueError, OSError):
        return


def _end(_number: object, _frame: object) -> None:
    try:
        for told in _late:
            told()
    finally:
        os._exit(0)
