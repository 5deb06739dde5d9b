"""What came of judging budgets: a result for each limit, the misses behind it, and one outcome."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

import msgspec

from agentsim.budget.budget_limits import Level, Limit
from agentsim.budget.session_measures import Measures
from agentsim.core.session import Problem
from agentsim.core.verdict import Verdict
from agentsim.diagnose.harness_settings import HarnessSetting

Status = Literal["held", "broken", "unjudged"]

Blame = Literal["error", "warning", "note"]
"""Whether a miss breaks a limit by itself, stands in a session that broke one, or in one where all held."""


class JudgedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A judged session: its file as patterns and baselines name it, its id, its sums, how many budgets apply to it,
    and whether its file holds no other session."""

    path: str
    session: str
    measures: Measures
    budgets: int = 0
    alone: bool = False

    @property
    def name(self) -> str:
        """What people call it: the only session of a file is named by the file."""
        return self.path if self.alone else self.key

    @property
    def key(self) -> str:
        """The name of the session in a baseline."""
        return f"{self.path}#{self.session}"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of one budget on one session, or on several together.

    ``actual`` and ``base`` (what the baseline says) are in the unit of the limit; ``None`` where nothing is known.
    ``reason`` says why it could not be judged. ``traces`` are the keys of the sessions, ``subject`` names them;
    ``path`` is the file of the first one, ``file`` and ``line`` are the place in the configuration.
    """

    budget: str
    level: Level
    limit: Limit
    subject: str
    traces: tuple[str, ...]
    status: Status
    actual: Fraction | None = None
    base: Fraction | None = None
    reason: str | None = None
    path: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> tuple[str | None, int | None]:
        """The file and line to point at: the limit in its configuration, or else the log."""
        return (self.file, self.line) if self.file is not None else (self.path, None)

    @property
    def allowed(self) -> Fraction | None:
        """What ``actual`` may be, in its own unit; ``None`` for a growth from an unknown base."""
        if self.limit.kind != "max-growth":
            return self.limit.value
        if self.base is None:
            return None
        return self.base * (1 + self.limit.value) if self.limit.relative else self.base + self.limit.value

    @property
    def excess(self) -> Fraction:
        """How far beyond the limit, as a share of it. A limit of nothing is exceeded by the amount itself."""
        if self.actual is None or self.allowed is None:
            return Fraction(0)
        beyond = self.actual - self.allowed
        if self.limit.kind == "min-hit-rate":
            beyond = -beyond
        return beyond / self.allowed if self.allowed else beyond


class GateMiss(msgspec.Struct, frozen=True, kw_only=True):
    """A request that lost its cache, in a judged session. ``number`` is its row, from 1; ``settings`` are those of the
    session's harness that bear on the cause."""

    trace: str
    path: str
    session: str
    number: int
    verdict: Verdict
    file: str
    line: int | None
    blame: Blame = "note"
    settings: tuple[HarnessSetting, ...] = ()


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """All results, the worst first; all misses, the dearest first; and what could not be read."""

    results: tuple[Result, ...]
    findings: tuple[GateMiss, ...]
    traces: tuple[JudgedTrace, ...]
    problems: tuple[Problem, ...] = ()
    config: str | None = None

    @property
    def outcome(self) -> Status:
        """``broken`` when a budget is broken, whatever else could not be judged: no evidence that is missing can mend
        it. ``unjudged`` when none is, but something could not be judged or read, or nothing was judged at all.
        Budgets of level "warn" decide nothing."""
        strict = [result for result in self.results if result.level == "error"]
        if any(result.status == "broken" for result in strict):
            return "broken"
        unread = any(result.status == "unjudged" for result in strict) or self.problems
        return "unjudged" if unread or not self.results else "held"

    def count(self, status: Status) -> int:
        """How many limits came out so."""
        return sum(result.status == status for result in self.results)


def worst_first(results: Iterable[Result]) -> tuple[Result, ...]:
    """Broken limits by how far they are exceeded, then those that could not be judged, then those that hold."""
    rank = {"broken": 0, "unjudged": 1, "held": 2}
    level = {"error": 0, "warn": 1}
    return tuple(
        sorted(
            results,
            key=lambda one: (
                rank[one.status],
                level[one.level],
                -max(one.excess, Fraction(0)),
                one.budget,
                one.subject,
            ),
        )
    )


def dearest_first(findings: Iterable[GateMiss]) -> tuple[GateMiss, ...]:
    """Misses that break a limit first; among equals the one that lost most."""
    rank = {"error": 0, "warning": 1, "note": 2}
    return tuple(
        sorted(
            findings,
            key=lambda one: (
                rank[one.blame],
                -(one.verdict.lost_cost or 0),
                -one.verdict.lost,
                one.trace,
                one.number,
            ),
        )
    )
