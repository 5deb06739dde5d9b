"""Budgets as assertions: for a test suite that records its agent, or keeps recordings of it.

from agentsim.testing import assert_budget

def test_the_agent_keeps_its_cache():
    assert_budget("recordings/run.jsonl", max_cost="0.50", min_hit_rate=0.85, forbid=["AS103"])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentsim.budget.budget_gate import Gate
    from agentsim.budget.budget_limits import Budget, Limit
    from agentsim.budget.recordings import Recording
    from agentsim.core.session import Problem, Session

__all__ = ["assert_budget"]

Amount = str | int | Decimal
"""An exact amount. A float is refused: 0.1 is not a tenth."""

WIDTH = 120


def assert_budget(
    recording: str | os.PathLike[str] | Session,
    *,
    max_cost: Amount | None = None,
    max_equivalents: Amount | None = None,
    min_hit_rate: Amount | float | None = None,
    max_misses: int | Mapping[str, int] | None = None,
    max_lost_cost: Amount | None = None,
    forbid: Iterable[str] = (),
    allow_skipped: int = 0,
) -> None:
    """Hold every session of a recording to a budget.

    ``recording`` is a file or a folder in any format that can be read, or a session. ``max_cost`` and ``max_lost_cost``
    are dollars, ``max_equivalents`` are tokens of ordinary input, ``min_hit_rate`` is a share such as ``"85%"`` or
    ``0.85``; ``max_misses`` is a number, or numbers by cause, and ``forbid`` names causes (``AS103``, ``AS1xx``). So
    many rows as ``allow_skipped`` may be skipped.

    Raises AssertionError with the table of limits and the misses behind it when one is broken or could not be judged,
    ValueError for an amount or a cause that is none, and OSError when the recording cannot be read.
    """
    from agentsim.budget.budget_judging import judge

    budget = _budget(max_cost, max_equivalents, min_hit_rate, max_misses, max_lost_cost, forbid, allow_skipped)
    problems: list[Problem] = []
    gate = judge(_recordings(recording, problems), [budget], problems=problems)
    if gate.outcome != "held":
        raise AssertionError(_table(gate))


def _recordings(recording: str | os.PathLike[str] | Session, problems: list[Problem]) -> Iterable[Recording]:
    from agentsim.budget.recordings import Recording, read_recordings
    from agentsim.core.session import Session

    if isinstance(recording, Session):
        return [Recording(recording, recording.files[:1] or (recording.id,))]
    path = os.fspath(recording)
    os.stat(path)
    return read_recordings([path], problems)


def _budget(
    max_cost: Amount | None,
    max_equivalents: Amount | None,
    min_hit_rate: Amount | float | None,
    max_misses: int | Mapping[str, int] | None,
    max_lost_cost: Amount | None,
    forbid: Iterable[str],
    allow_skipped: int,
) -> Budget:
    from agentsim.budget import exact_amounts
    from agentsim.budget.budget_limits import Budget, Limit, cause_name

    limits: list[Limit] = []
    given: tuple[tuple[str, object, Callable[[object], int | Fraction]], ...] = (
        ("max-cost", max_cost, exact_amounts.dollars),
        ("max-input-equivalents", max_equivalents, exact_amounts.tokens),
        ("min-hit-rate", _share(min_hit_rate), exact_amounts.share),
        ("max-lost-cost", max_lost_cost, exact_amounts.dollars),
    )
    for kind, value, reader in given:
        if value is not None:
            limits.append(Limit(kind=kind, value=Fraction(reader(value))))  # type: ignore[arg-type]
    counts = max_misses if isinstance(max_misses, Mapping) else {} if max_misses is None else {"total": max_misses}
    for name, count in counts.items():
        cause = None if name == "total" else cause_name(name)
        limits.append(Limit(kind="max-misses", value=Fraction(exact_amounts.count(count)), cause=cause))
    for name in [forbid] if isinstance(forbid, str) else forbid:
        limits.append(Limit(kind="forbid", value=Fraction(0), cause=cause_name(name)))
    if not limits:
        raise ValueError("a budget without limits holds anything; give one, such as max_cost")
    return Budget(name="assert_budget", limits=tuple(limits), allow_skipped=allow_skipped)


def _share(value: Amount | float | None) -> Amount | None:
    # A share may be a float: it is read as it is written, 0.85 and not the binary number beside it.
    return Decimal(repr(value)) if isinstance(value, float) else value


def _table(gate: Gate) -> str:
    from agentsim.report.paper import Paper
    from agentsim.report.screen.gate_page import write_gate

    stream = StringIO()
    write_gate(Paper(stream, width=WIDTH), gate)
    return "\n" + stream.getvalue().rstrip("\n")
