"""What a hypothesis on a loss says of itself, on rows as on bodies, and how much is proved by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from agentsim.core.verdict import Divergence, Evidence

Standing = Literal["sufficient", "likely", "open", "excluded"]
"""``sufficient``: it alone explains the loss, and the log shows it. ``likely``: the rows point to it. ``open``: nothing
speaks against it. ``excluded``: the evidence rules it out."""


class Hypothesis(NamedTuple):
    """What one hypothesis says of itself: the code of its cause, how it stands, a sentence on that, what is left to
    check, how likely it is among the open ones (higher first), and the read that it predicts, the least and the most,
    where it predicts one. ``place`` is where it finds the prompts to part, ``fix`` what would mend just this."""

    code: str
    standing: Standing
    sentence: str | None = None
    check: str | None = None
    weight: int = 0
    predicted: tuple[int, int] | None = None
    place: Divergence | None = None
    fix: str | None = None

    def foretells(self, read: int, near: int) -> bool:
        """Whether this read, give or take ``near`` tokens, is the one that it predicts."""
        return self.predicted is not None and self.predicted[0] - near <= read <= self.predicted[1] + near


CERTAIN = 150
"""The weight from which a sufficient hypothesis leaves nothing for others to lose: it excludes them, but for what the
log shows beside it."""

SHOWN = 85
"""The weight from which a hypothesis rests on something that the log shows, and not on sizes alone."""


def unproved(alternatives: Sequence[str]) -> Evidence:
    """What a cause rests on that explains a loss and is not proved: implied only where all others are ruled out."""
    return "likely" if alternatives else "implied"


def codes_but(code: str, said: Sequence[Hypothesis]) -> tuple[str, ...]:
    """The codes of these hypotheses in their order, each once, and not this one."""
    return tuple(dict.fromkeys(one.code for one in said if one.code != code))


def settled_by(first: Hypothesis, said: Sequence[Hypothesis]) -> list[Hypothesis]:
    """What the hypotheses say once one of them is taken to be sufficient: a certain one excludes those by name of which
    the log shows nothing, as it left them nothing to lose."""
    if first.weight < CERTAIN:
        return list(said)
    spent = f"{first.code} left nothing for it to lose."
    return [
        one
        if one.code == first.code or one.standing in ("sufficient", "excluded") or one.weight >= SHOWN
        else one._replace(standing="excluded", sentence=spent)
        for one in said
    ]
