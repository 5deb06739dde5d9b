"""What a policy saves, in words: the same on the screen, in the TUI and wherever else a saving is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures

if TYPE_CHECKING:
    from agentsim.whatif.saving_interval import SavingInterval

UNCLEAR = "unclear"


def told(amount: int | None, interval: SavingInterval | None, shown: bool = True) -> int | None:
    """An amount as far as it is told: ``None`` where its sign is not known, or nothing is to be shown."""
    return amount if shown and (interval is None or interval.sign_holds) else None


def saving_words(saving: int | None, interval: SavingInterval | None, places: int | None = None) -> str:
    """A saving in dollars; that it is unclear where its sign is not known; a dash where none is told."""
    if saving is None:
        return figures.UNKNOWN
    if interval is not None and not interval.sign_holds:
        return UNCLEAR
    return figures.money(saving) if places is None else figures.money(saving, places)


def interval_words(interval: SavingInterval | None, places: int | None = None) -> str:
    """The ends of an interval, from the lower to the higher one; a dash where it is a single figure or none is told."""
    if interval is None or interval.low == interval.high:
        return figures.UNKNOWN
    ends = [interval.low, interval.high]
    low, high = (figures.money(end) if places is None else figures.money(end, places) for end in ends)
    return f"{low} to {high}"
