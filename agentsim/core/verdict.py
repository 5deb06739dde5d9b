"""What was found out about a row: the verdict and its evidence."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentsim.core.prompt import Section

Kind = Literal[
    "first",  # first request of a lane: nothing to reuse was expected
    "hit",  # all that could be read was read; only new content was written
    "extended",  # read MORE than any logged request wrote: an unlogged request extended the entry
    "shorter",  # the prompt is shorter than its predecessor's and all of the common part was read (a rewind)
    "recovered",  # the row before lost its prefix; this one reads an earlier entry of the lane again
    "compaction",  # the history was replaced by a summary on purpose
    "miss",  # something that could have been read was lost
    "uncached",  # caching was never switched on for this prompt, or it is below the model's minimum
    "unreported",  # the log reports no cache counters: nothing can be said
]
"""The class of a row. Only ``miss`` is a loss."""

Evidence = Literal["provider", "harness", "proved", "implied", "likely", "unexplained"]
"""What a verdict rests on: the provider said so; the harness did, which compares requests too; bodies prove it; the
rows imply it and leave no other cause; they show it or point to it, and the other causes that it names stay possible;
nothing does."""

Change = Literal[
    "inserted", "removed", "reordered", "edited", "truncated", "cleared", "volatile", "key_order", "whitespace", "shape"
]
"""How a block differs from the one that stood there before."""

Prediction = Literal["exact", "class", "wrong", "none"]
"""How the read compares with what was expected before looking: the very number; the very cause of a loss (an expiry, a
lookback) though not the very number; neither; or nothing to predict."""


class Divergence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where two prompts part. ``block`` is a position in the prompt (from 0), ``address`` names it as a person would
    (``tools[7]``, ``messages[12].content[3]``), ``offset`` is the first differing character of its canonical text.
    ``before`` and ``after`` are short excerpts around it, present only where content may be shown."""

    section: Section | None
    block: int | None = None
    address: str | None = None
    name: str | None = None
    change: Change | None = None
    offset: int | None = None
    changed_characters: int | None = None
    before: str | None = None
    after: str | None = None


LEAST_LOSS = 64
"""Tokens; less than this is the inexactness of sizes, or the end of a message written in another way, and no loss."""


UNEXPLAINED_LOSS = "AS902"
"""The cause of a loss that nothing explains."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to the row of one request, and why.

    ``expected`` is what the row should have read had nothing gone wrong; ``predicted`` is what the model said it would
    read before looking at it. ``lost`` are tokens that could have been read and were not; ``lost_cost`` (picodollars)
    and ``lost_equivalents`` (micro-tokens of ordinary input) price them as what was paid minus the price of reading
    them. ``cause`` is a code of :mod:`agentsim.diagnose.cause_registry`; ``alternatives`` are codes that remain
    possible. ``established`` and ``to_check`` are sentences. ``unlogged`` is how many tokens an unlogged request must
    have added.
    """

    request: str
    kind: Kind
    cause: str | None = None
    evidence: Evidence | None = None
    alternatives: tuple[str, ...] = ()
    place: Divergence | None = None
    expected: int | None = None
    predicted: int | None = None
    prediction: Prediction = "none"
    lost: int = 0
    lost_cost: int | None = None
    lost_equivalents: int | None = None
    unlogged: int | None = None
    established: tuple[str, ...] = ()
    to_check: tuple[str, ...] = ()
    fix: str | None = None
    compared_with: str | None = None

    @property
    def code(self) -> str:
        """The code under which a loss is counted: its cause, or that of a loss which nothing explains."""
        return self.cause or UNEXPLAINED_LOSS
