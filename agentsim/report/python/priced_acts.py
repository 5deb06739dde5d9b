"""What could be done next, in Python: ``agentsim.next(PATH)``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agentsim.core.money import dollars
from agentsim.core.session import Session
from agentsim.outlook.cache_state import CacheState, Deadline
from agentsim.outlook.next_acts import PAUSE, Outlook, next_acts
from agentsim.outlook.priced_act import NotPriced, PricedAct
from agentsim.report.python.record_table import Record, RecordTable

ACT_COLUMNS = ("act", "title", "reads", "anew", "price", "least", "most", "confidence")


def next(
    session: Session | str | os.PathLike[str] | None = None,
    *,
    now: int | None = None,
    after: int | None = None,
    pause: int = PAUSE,
    models: Sequence[str] = (),
    lane: str | None = None,
) -> PricedActs:
    """Price what could be done next in a session, a log of one, or (``None``) the newest one on this machine.

    ``now`` is a time in nanoseconds (UTC); without it, ``after`` seconds after the last row, by default at once.
    ``pause`` are the seconds of a wait, ``models`` other models to go to (default: those of the session, or their
    siblings), ``lane`` which lane (default: the main conversation that came last). Changes nothing. Raises
    NothingToPrice (a ValueError), and OSError for a path without a session.
    """
    return PricedActs(next_acts(session, now=now, after=after, pause=pause, models=models, lane=lane))


class PricedActs(RecordTable):
    """A table with a record for each act, prices in dollars; ``acts`` has them with their steps and rules, exactly."""

    def __init__(self, outlook: Outlook) -> None:
        super().__init__(ACT_COLUMNS, [_record(act) for act in outlook.acts])
        self.outlook = outlook

    @property
    def acts(self) -> tuple[PricedAct, ...]:
        """The acts with their steps (picodollars)."""
        return self.outlook.acts

    @property
    def left_out(self) -> tuple[NotPriced, ...]:
        """Acts that could not be priced, with the reason."""
        return self.outlook.left_out

    @property
    def state(self) -> CacheState:
        """What the session left in its provider's cache."""
        return self.outlook.state

    @property
    def ends(self) -> Deadline:
        """When that ends (nanoseconds, UTC)."""
        return self.outlook.ends

    @property
    def now(self) -> int:
        """The time of the prices (nanoseconds, UTC)."""
        return self.outlook.now

    @property
    def thousand_new(self) -> int | None:
        """What a thousand new tokens cost when they are first sent (picodollars)."""
        return self.outlook.thousand_new

    @property
    def warmth(self) -> str:
        """``warm``, ``cold``, ``unsure``, or ``empty`` where nothing was cached."""
        return self.outlook.warmth

    def act(self, name: str) -> PricedAct | None:
        """The first act of a name; ``None`` where it could not be priced."""
        return self.outlook.act(name)


def _record(act: PricedAct) -> Record:
    cost = act.cost
    return {
        "act": act.name,
        "title": act.title,
        "reads": sum(step.expected.read or 0 for step in act.steps),
        "anew": act.rewritten,
        "price": None if cost is None else dollars(cost.expected),
        "least": None if cost is None else dollars(cost.low),
        "most": None if cost is None else dollars(cost.high),
        "confidence": act.confidence,
    }
