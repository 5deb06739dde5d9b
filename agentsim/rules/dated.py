"""Whether something holds for a model at a time: the one answer for figures of rules and for prices."""

from __future__ import annotations

import re
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from agentsim.core.dates import start_of

_MAKER = re.compile(r"^(?:[a-z-]+\.){1,2}(?=[a-z])")
"""us.openai.gpt-…: regions and makers in front of a model's name on a cloud."""


class Dated(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds for some models (shell patterns; all where ``None``) from one day to another, UTC.

    ``until`` is the first day on which it no longer holds.
    """

    models: tuple[str, ...] | None = None
    from_: date | None = msgspec.field(default=None, name="from")
    until: date | None = None

    def holds(self, model: str, moment: int) -> bool:
        """Whether it is in force for a model, named as in a log, at a moment (nanoseconds, UTC).

        There is no unknown moment here: who does not know it asks for the day on which the sources were read.
        """
        since = None if self.from_ is None else start_of(self.from_)
        until = None if self.until is None else start_of(self.until)
        return within(moment, since, until) and self.concerns(model)

    def concerns(self, model: str) -> bool:
        """Whether it is about a model, whenever."""
        return self.models is None or any(matches(pattern, model) for pattern in self.models)


def within(moment: int, since: int | None, until: int | None) -> bool:
    """Whether a ``moment`` is at or after ``since`` and before ``until``; ``None``: open."""
    return (since is None or moment >= since) and (until is None or moment < until)


def matches(pattern: str, model: str) -> bool:
    """Whether a shell pattern, in whatever case, names a model: as a log writes it, or by its own name alone."""
    pattern = pattern.lower()
    return any(fnmatchcase(name, pattern) for name in _names(model))


def bare_name(model: str) -> str:
    """A model's own name: gateways and clouds put the vendor in front of it, and mark long contexts behind it."""
    name = _MAKER.sub("", model.rsplit("/", 1)[-1].split("[", 1)[0].lower())
    return name[name.index("claude") :].replace(".", "-") if "claude" in name else name


@lru_cache(maxsize=4096)
def _names(model: str) -> tuple[str, ...]:
    """Lower case: the name as it is written, without the gateway's or vendor's part, and the model's own."""
    written = model.lower()
    return tuple(dict.fromkeys((written, written.rsplit("/", 1)[-1], bare_name(model))))
