"""A regression watch for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim import __version__
from agentsim.report.json.canonical_json import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsim.fleet.open_regressions import OpenState
    from agentsim.fleet.regression_watch import Watch


def watch_document(seen: Watch, states: Sequence[OpenState] = ()) -> Document:
    """Every group with its two shares, their interval, its flag and the causes that moved; dollars as decimal text."""
    return {
        "agentsim": __version__,
        "report": "watch",
        "version": 1,
        "last": [seen.first.isoformat(), seen.last.isoformat()],
        "before": [seen.before_first.isoformat(), seen.before_last.isoformat()],
        "worse": len(seen.worse),
        "open": [
            {
                "dimension": one.regression.dimension,
                "name": one.regression.name,
                "found": one.regression.found.isoformat(),
                "before": [one.regression.before_first.isoformat(), one.regression.before_last.isoformat()],
                "state": one.state,
                "lost_share_before": None if one.change is None else one.change.before,
                "lost_share": None if one.change is None else one.change.last,
            }
            for one in states
        ],
        "too_few_sessions": seen.few,
        "changes": [
            {
                "dimension": change.dimension,
                "name": change.name,
                "new": change.new,
                "sessions_before": change.sessions_before,
                "sessions": change.sessions,
                "lost_share_before": change.before,
                "lost_share": change.last,
                "difference_interval": [change.low, change.high],
                "excess": None if change.excess is None else f"{change.excess:.6f}",
                "flag": change.flag,
                "chance": change.chance,
                "onset": None
                if change.onset is None
                else [day.isoformat() for day in (change.onset.day, change.onset.first, change.onset.last)],
                "causes": [
                    {
                        "cause": growth.cause,
                        "lost_share_before": growth.before,
                        "lost_share": growth.last,
                        "lost_cost": None if growth.cost is None else f"{growth.cost:f}",
                    }
                    for growth in change.causes
                ],
            }
            for change in seen.changes
        ],
    }
