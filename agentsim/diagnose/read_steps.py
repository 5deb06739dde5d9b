"""The steps in which an automatic cache counts what it reads, as the reads of a lane show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentsim.diagnose.row_facts import ReadSteps, RowFacts
from agentsim.rules.providers import bare_name, rules_for

USUAL_STEP = 128
"""Tokens; providers that say anything say this. Used where a lane has too few reads to show its own."""

STEPS = (2048, 1024, 512, 256, 128)
"""Tokens; the steps that were seen, the widest first."""

ENOUGH_READS = 4
"""Different reads; so many in one step are hardly chance."""

MOST_OFF = 10
"""One read in so many may end elsewhere: another machine, or another edition of the model."""

SOME = 3
"""Reads that end alike are another row of steps; fewer end where no step does."""

CODEX = "codex"
_OPENAI = ("gpt-", "codex", "o3", "o4")
_GEMINI_STEP = 2048
"""Tokens; reads of Gemini come in blocks of about 2,028 tokens that differ by a few: one less is no loss."""


def steps_of(rows: Sequence[RowFacts], alike: Sequence[RowFacts] = ()) -> ReadSteps:
    """The steps of the reads of one lane and model. Where these are too few, ``alike`` are other rows of the lane."""
    for some in (rows, alike):
        found = _shown([row.read for row in some if row.read])
        if found is not None:
            return found
    if not rows:
        return ReadSteps(USUAL_STEP)
    first = rows[0]
    return ReadSteps(known_step(first.provider, first.model, first.start, first.harness))


def _shown(reads: list[int]) -> ReadSteps | None:
    if len(set(reads)) < ENOUGH_READS:
        return None
    for width in STEPS:
        counts = Counter(read % width for read in reads).most_common()
        if (len(reads) - counts[0][1]) * MOST_OFF <= len(reads):
            offsets = tuple(offset for offset, count in counts if count >= SOME)
            return ReadSteps(width, offsets or (counts[0][0],))
    return None


def known_step(provider: str, model: str, start: int | None, harness: str | None = None) -> int:
    """The step of a provider, as far as rules or observations tell it."""
    name = bare_name(model).lower()
    if harness == CODEX and name.startswith(_OPENAI):
        provider = CODEX  # the same models in the same steps, whichever cloud they are called through
    if name.startswith("gemini"):
        return _GEMINI_STEP
    try:
        return max(USUAL_STEP, rules_for(provider, model, start).quantum)
    except ValueError:
        return USUAL_STEP
