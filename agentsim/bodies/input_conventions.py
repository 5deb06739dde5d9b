"""How formats count input: with the cached part or without it. Each reader names its convention; nothing is guessed.

OpenAI, Gemini, Codex, OpenHands and others report all input and, beside it, how much of that was cached. Anthropic, Pi,
OpenCode and others report disjoint parts. Both end here as a :class:`Usage` without overlap, or not at all: counters
that contradict their convention cost their row (:class:`BadRow`), they are not bent until they fit.
"""

from __future__ import annotations

from typing import Literal

from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow


def input_includes_cached(total: int | None, read: int | None, write: int | None, output: int | None) -> Usage:
    """Usage where ``total`` holds the tokens read from and written to a cache as well.

    The lifetime of writes is not known. Raises BadRow when more was read and written than sent.
    """
    fresh = None
    if total is not None:
        fresh = total - (read or 0) - (write or 0)
        if fresh < 0:
            raise BadRow("bad counter", "more input was read from and written to a cache than there was input")
    return Usage(fresh=fresh, read=read, write_other=write, output=output)


def input_excludes_cached(fresh: int | None, read: int | None, write: int | None, output: int | None) -> Usage:
    """Usage where the parts are disjoint, as they stand. The lifetime of writes is not known."""
    return Usage(fresh=fresh, read=read, write_other=write, output=output)


Convention = Literal["includes", "excludes"]
"""Whether a counter of input holds the tokens read from and written to a cache as well."""


def convention_told(
    sent: int | None, read: int | None, write: int | None, output: int | None, total: int | None
) -> Convention | None:
    """The convention that a row's own counters prove, if they do.

    Less input than was read and written cannot hold it; a total that is the sum of either reading decides.
    """
    cached = (read or 0) + (write or 0)
    if sent is None or not cached:
        return None
    if sent < cached:
        return "excludes"
    if total is not None:
        if total == sent + (output or 0):
            return "includes"
        if total == sent + cached + (output or 0):
            return "excludes"
    return None


class Conventions:
    """The convention of each source of rows in a file, learnt from rows that prove it. Mutable."""

    def __init__(self) -> None:
        self._told: dict[str, set[Convention]] = {}

    def learn(self, source: str, convention: Convention | None) -> None:
        """A row of this source proves a convention, or none."""
        if convention is not None:
            self._told.setdefault(source, set()).add(convention)

    def of(self, source: str) -> Convention | None:
        """The one convention that rows of this source prove; ``None`` where none does, or they contradict."""
        told = self._told.get(source, set())
        return next(iter(told)) if len(told) == 1 else None


def usage_by(
    convention: Convention, sent: int | None, read: int | None, write: int | None, output: int | None
) -> Usage:
    """Usage of counters under a convention. Raises BadRow when they contradict it."""
    if convention == "includes":
        return input_includes_cached(sent, read, write, output)
    return input_excludes_cached(sent, read, write, output)


def is_empty(usage: Usage) -> bool:
    """True when nothing was counted, or only zeros: a call that was aborted, or a server that does not count."""
    return not (usage.fresh or usage.read or usage.write_short or usage.write_long or usage.write_other or usage.output)


def reports_writes(provider: str, model: str) -> bool:
    """Whether a zero in a counter of writes means that nothing was written.

    Only caches with breakpoints of the caller's own report writes. Logs with one shape for all providers fill the
    counter with 0 for those that have none; that 0 is no measurement.
    """
    return provider == "anthropic" or "claude" in model.lower()


def check_excludes_cached(fresh: int | None, cached: int | None, output: int | None, total: int | None) -> None:
    """Raise BadRow when a row's own total says that its input holds the cached part after all."""
    if total is None or fresh is None or not cached:
        return
    if total == fresh + (output or 0):
        raise BadRow("bad counter", "the total says that cached tokens are part of the input here")
