"""What a budget says: its limits, in exact numbers, with the line that each was written on."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

import msgspec

from agentsim.core.near_words import did_you_mean

Kind = Literal[
    "max-cost", "max-input-equivalents", "min-hit-rate", "max-misses", "max-lost-cost", "forbid", "max-growth"
]
"""The kind of a limit is the key that it is written under."""

Metric = Literal["cost", "input-equivalents", "misses"]
"""What may grow against a baseline."""

Judge = Literal["each", "together"]
"""Whether a budget holds for each session by itself, or for the sum of all that it applies to."""

Level = Literal["error", "warn"]

FAMILY = re.compile(r"AS[1-9]xx")
"""A family of causes by its hundred, such as ``AS1xx``: the prefix changed."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One limit. ``value`` is in the unit of its kind: picodollars, micro-tokens of ordinary input, a share, a count.

    ``cause`` narrows a count of misses, or names what is forbidden: a code, or a family such as ``AS1xx``. ``metric``
    and ``relative`` belong to a growth: with ``relative`` the value is a share of the baseline.
    """

    kind: Kind
    value: Fraction
    cause: str | None = None
    metric: Metric | None = None
    relative: bool = False
    line: int | None = None


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for the sessions whose files match ``traces``, or for all of them where that is empty.

    ``allow_skipped`` is how many lines of a log may be unreadable before nothing can be said to hold. ``file`` is the
    configuration it was read from.
    """

    name: str
    limits: tuple[Limit, ...]
    traces: tuple[str, ...] = ()
    judge: Judge = "each"
    level: Level = "error"
    allow_skipped: int = 0
    file: str | None = None
    line: int | None = None


def fits(cause: str | None, code: str | None) -> bool:
    """Whether a code is the cause that a limit names, or belongs to the family it names."""
    if cause is None or code is None:
        return False
    return code == cause or (FAMILY.fullmatch(cause) is not None and code[:3] == cause[:3])


class CauseError(ValueError):
    """A name that is no cause; the text says which one is nearest."""


def cause_name(value: object) -> str:
    """The code of a cause, from its code, its short name, or a family such as ``AS1xx``. Raises CauseError."""
    from agentsim.diagnose.cause_registry import CAUSES, cause

    if not isinstance(value, str):
        raise CauseError('must be the code of a cause, such as "AS103"')
    if FAMILY.fullmatch(value) and any(code[:3] == value[:3] for code in CAUSES):
        return value
    try:
        return cause(value).code
    except KeyError:
        hint = did_you_mean(value, _names(), "'agentsim explain' lists all")
        raise CauseError(f"no cause is called {value[:60]!r}; {hint}") from None


def _names() -> list[str]:
    from agentsim.diagnose.cause_registry import CAUSES

    families = sorted({code[:3] + "xx" for code in CAUSES})
    return [*CAUSES, *(item.slug for item in CAUSES.values()), *families]
