"""A summary in Python: ``agentsim.summary(PATH)``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, overload

from agentsim.core.money import dollars
from agentsim.fleet.summary import Summary, summarise
from agentsim.report.python.record_table import RecordTable
from agentsim.report.verdict_words import cause_title
from agentsim.traces.harness_places import found_places

if TYPE_CHECKING:
    from agentsim.fleet.summary.grouped import By, GroupedSummary

GROUP_COLUMNS = ("name", "requests", "input", "read", "cost", "not_priced", "misses", "lost", "lost_cost")


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


@overload
def summary(path: Paths = None, *, workers: int = 1) -> SummedUp: ...


@overload
def summary(path: Paths = None, *, by: By, since: date | None = None, until: date | None = None) -> GroupedUp: ...


@overload
def summary(path: Paths = None, *, since: date, until: date | None = None) -> GroupedUp: ...


def summary(
    path: Paths = None,
    *,
    by: By | None = None,
    since: date | None = None,
    until: date | None = None,
    workers: int = 1,
) -> SummedUp | GroupedUp:
    """Sums over the sessions of the files and folders of ``path``, without it over all on this machine.

    With ``by`` (day, week, month, model, project, harness, version, branch or agent), ``since`` or ``until`` (the first
    and the last day, UTC) it is a table with a line for each group, as ``agentsim summary --by`` shows it. ``workers``
    is the number of processes that read.
    """
    if path is None:
        paths = [place.path for place in found_places()]
    else:
        paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(one) for one in path]
    if by is not None or since is not None or until is not None:
        from agentsim.fleet.summary.grouped import summarise_groups

        return GroupedUp(summarise_groups(paths, by=by, since=since, until=until, today=until))
    return SummedUp(summarise(paths, workers=workers, worst=50))


class SummedUp:
    """Sums over many sessions; ``figures`` holds all of them as they were added up."""

    def __init__(self, figures: Summary) -> None:
        self.figures = figures

    def __repr__(self) -> str:
        return f"<{self.figures.sessions:,} sessions, {self.figures.requests:,} requests, cost {self.cost}>"

    @property
    def cost(self) -> Decimal | None:
        """What the requests with a price cost, in dollars."""
        return _money(self.figures.cost)

    @property
    def lost_cost(self) -> Decimal | None:
        """What was lost, in dollars."""
        return _money(self.figures.lost_cost)

    @property
    def losses(self) -> RecordTable:
        """What each cause lost, the most expensive first."""
        columns = ("cause", "title", "misses", "lost", "lost_cost")
        return RecordTable(
            columns,
            [
                {
                    "cause": loss.cause,
                    "title": cause_title(loss.cause),
                    "misses": loss.count,
                    "lost": loss.tokens,
                    "lost_cost": None if loss.unpriced == loss.count else _money(loss.cost),
                }
                for loss in self.figures.losses
            ],
        )

    @property
    def sessions(self) -> RecordTable:
        """A record for each session, those that lost most first."""
        columns = ("session", "project", "requests", "misses", "read", "input", "cost", "lost_cost")
        return RecordTable(
            columns,
            [
                {
                    "session": line.session,
                    "project": line.project,
                    "requests": line.requests,
                    "misses": line.misses,
                    "read": line.hit_read,
                    "input": line.hit_total,
                    "cost": _money(line.cost),
                    "lost_cost": _money(line.lost_cost),
                }
                for line in self.figures.by_loss
            ],
        )

    def _repr_html_(self) -> str:
        return "\n".join(table._repr_html_() for table in (self.losses, self.sessions))


class GroupedUp(RecordTable):
    """A line for each group; ``figures`` holds them as they were added up, with their total."""

    def __init__(self, figures: GroupedSummary) -> None:
        self.figures = figures
        super().__init__(
            GROUP_COLUMNS,
            [
                {
                    "name": group.name,
                    "requests": group.requests,
                    "input": group.input,
                    "read": group.read,
                    "cost": _money(group.cost),
                    "not_priced": group.unpriced + group.bare,
                    "misses": group.misses,
                    "lost": group.lost_tokens,
                    "lost_cost": _money(group.lost_cost),
                }
                for group in figures.groups
            ],
        )


def _money(pico: int | None) -> Decimal | None:
    return None if pico is None else dollars(pico)
