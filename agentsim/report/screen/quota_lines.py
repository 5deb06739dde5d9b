"""What lost caches took of a plan's allowance, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Style

if TYPE_CHECKING:
    from agentsim.context.quota_fit import QuotaFit, QuotaInterval

NAMES = {300: "5-hour window", 1440: "daily window", 10080: "weekly window", 43200: "30-day window"}
"""Windows by their minutes."""


def write_quota(paper: Paper, fits: Sequence[QuotaFit]) -> None:
    """Write a line or two for each allowance that a log has counters of."""
    if not fits:
        return
    paper.line()
    paper.line(("Allowance", Style.STRONG), ", by the percent counters in the log")
    for fit in fits:
        name = NAMES.get(fit.window, f"window of {fit.window:,} min") + (f" of {fit.limit}" if fit.limit else "")
        paper.paragraph((name, Style.NAME), f": {_told(fit)}", first=["  "], rest=["    "])


def _told(fit: QuotaFit) -> str:
    text = f"the counter rose by {fit.used:g} points (with {fit.model}). "
    if fit.reason is not None or fit.lost is None:
        return text + f"What a lost cache takes cannot be told: {fit.reason}."
    if not fit.lost_tokens:
        return text + "No cache was lost."
    text += f"The {fit.lost_tokens:,} lost tokens took {_range(fit.lost)} of the allowance"
    if fit.lost_by_price is not None:
        text += f"; {_range(fit.lost_by_price)}, if tokens count by their list prices"
    text += "."
    if fit.shared:
        text += " Its counter rose by more than these requests explain, so only what is at most can be told."
    elif not any(interval.told for interval in fit.rates.values()):
        text += " The readings cannot tell the classes of tokens apart."
    return text


def _range(interval: QuotaInterval) -> str:
    most = figures.short(interval.most)
    if interval.least <= 0 or float(figures.short(interval.least).replace(",", "")) == 0:
        return f"at most {most} %"
    return f"{figures.short(interval.least)} to {most} %"
