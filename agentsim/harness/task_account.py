"""The account of whole tasks: every request that was made for them, by what it was for, and how long they took."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.core.session import Purpose
from agentsim.core.sums import FIELDS, Sums, as_sums, new_sums

PURPOSES: tuple[Purpose, ...] = ("main", "subagent", "summary", "keep_alive", "retry", "helper", "probe")

STAGES = ("first_token", "output", "tools", "pauses", "failures")
"""Waiting for first tokens, waiting for the rest of answers, running tools, people, and repeating what failed."""


class CompactionCosts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One compaction and its three costs (picodollars): making the summary, the first request after it, and those that
    followed until the next compaction or the end."""

    lane: str
    method: str
    time: int
    before: int
    after: int
    summary: Sums
    first: Sums
    later: Sums


class Spread(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A set of durations or sizes: how many, the typical one (median), the slow tail (95 %, by the nearest rank) and
    the largest."""

    count: int
    typical: int
    tail: int
    largest: int


class TaskAccount(msgspec.Struct, frozen=True, kw_only=True):
    """What whole tasks took. ``accepted`` is ``None`` where the scenario does not say how often a task is accepted.

    ``tasks`` holds the times from start to completion of finished tasks, ``turns`` those of turns, ``peaks`` the
    largest prompt of each task in tokens, in the order in which they ended. ``stages`` are nanoseconds, summed over
    lanes. ``kept_outside`` are tokens of tool results that never entered a prompt.
    """

    started: int
    finished: int
    accepted: int | None
    total: Sums
    purposes: tuple[tuple[Purpose, Sums], ...]
    compactions: tuple[CompactionCosts, ...]
    tasks: tuple[int, ...]
    turns: tuple[int, ...]
    peaks: tuple[int, ...]
    stages: tuple[tuple[str, int], ...]
    window: int | None
    kept_outside: int
    refused: int
    timed_out: int
    cleared: int
    dropped_timers: int

    @property
    def cost_per_accepted(self) -> int | None:
        """Picodollars of everything over the tasks that were accepted, rounded half up; ``None`` where that cannot be
        said."""
        if not self.accepted or self.total.unpriced:
            return None
        return (2 * self.total.cost + self.accepted) // (2 * self.accepted)

    def of(self, purpose: Purpose) -> Sums:
        """The sums of one purpose."""
        return dict(self.purposes).get(purpose, Sums())


def together(accounts: Sequence[TaskAccount]) -> TaskAccount:
    """The account of several runs of the same plan, as if they were one."""
    if len(accounts) == 1:
        return accounts[0]
    first = accounts[0]
    total = new_sums()
    purposes: dict[Purpose, list[int]] = {}
    stages = dict.fromkeys(STAGES, 0)
    for account in accounts:
        _add_sums(total, account.total)
        for purpose, sums in account.purposes:
            _add_sums(purposes.setdefault(purpose, new_sums()), sums)
        for stage, time in account.stages:
            stages[stage] += time
    return TaskAccount(
        started=sum(account.started for account in accounts),
        finished=sum(account.finished for account in accounts),
        accepted=None if first.accepted is None else sum(account.accepted or 0 for account in accounts),
        total=as_sums(total),
        purposes=tuple((p, as_sums(purposes[p])) for p in PURPOSES if p in purposes),
        compactions=tuple(one for account in accounts for one in account.compactions),
        tasks=tuple(time for account in accounts for time in account.tasks),
        turns=tuple(time for account in accounts for time in account.turns),
        peaks=tuple(size for account in accounts for size in account.peaks),
        stages=tuple(stages.items()),
        window=first.window,
        kept_outside=sum(account.kept_outside for account in accounts),
        refused=sum(account.refused for account in accounts),
        timed_out=sum(account.timed_out for account in accounts),
        cleared=sum(account.cleared for account in accounts),
        dropped_timers=sum(account.dropped_timers for account in accounts),
    )


def _add_sums(sums: list[int], more: Sums) -> None:
    for index, field in enumerate(FIELDS):
        sums[index] += getattr(more, field)


def spread(values: Sequence[int]) -> Spread | None:
    """The spread of some numbers; ``None`` of none."""
    if not values:
        return None
    ordered = sorted(values)
    count = len(ordered)
    return Spread(
        count=count, typical=ordered[(count - 1) // 2], tail=ordered[-(-count * 95 // 100) - 1], largest=ordered[-1]
    )


class CompactionMeter:
    """Collects the costs of one compaction while the session goes on. Mutable."""

    def __init__(self, lane: str, method: str, time: int, before: int) -> None:
        self.lane, self.method, self.time, self.before = lane, method, time, before
        self.after = 0
        self.summary, self.first, self.later = new_sums(), new_sums(), new_sums()

    def following(self) -> list[int]:
        """Where the next request of the conversation is to be added."""
        return self.later if self.first[0] else self.first

    def done(self) -> CompactionCosts:
        """What was collected."""
        return CompactionCosts(
            lane=self.lane,
            method=self.method,
            time=self.time,
            before=self.before,
            after=self.after,
            summary=as_sums(self.summary),
            first=as_sums(self.first),
            later=as_sums(self.later),
        )


class Meter:
    """Adds requests up while they are made. Mutable."""

    def __init__(self) -> None:
        self.purposes: dict[Purpose, list[int]] = {}
        self.compactions: list[CompactionMeter] = []
        self.stages = dict.fromkeys(STAGES, 0)
        self.tasks: list[int] = []
        self.turns: list[int] = []
        self.peaks: list[int] = []
        self.started = self.finished = self.accepted = 0
        self.kept_outside = self.refused = self.timed_out = self.cleared = self.dropped_timers = 0

    def sums_of(self, purpose: Purpose) -> list[int]:
        """Where requests of a purpose are added."""
        found = self.purposes.get(purpose)
        if found is None:
            found = self.purposes[purpose] = new_sums()
        return found

    def account(self, *, passes_known: bool, window: int | None) -> TaskAccount:
        """What was added up."""
        total = new_sums()
        for sums in self.purposes.values():
            for index, value in enumerate(sums):
                total[index] += value
        return TaskAccount(
            started=self.started,
            finished=self.finished,
            accepted=self.accepted if passes_known else None,
            total=as_sums(total),
            purposes=tuple((p, as_sums(self.purposes[p])) for p in PURPOSES if p in self.purposes),
            compactions=tuple(meter.done() for meter in self.compactions),
            tasks=tuple(self.tasks),
            turns=tuple(self.turns),
            peaks=tuple(self.peaks),
            stages=tuple(self.stages.items()),
            window=window,
            kept_outside=self.kept_outside,
            refused=self.refused,
            timed_out=self.timed_out,
            cleared=self.cleared,
            dropped_timers=self.dropped_timers,
        )
