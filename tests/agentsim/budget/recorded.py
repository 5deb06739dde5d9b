"""Recordings to judge: the bundled pair, and what is missing from a log made up of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from agentsim.budget.budget_gate import Gate
from agentsim.budget.budget_judging import judge
from agentsim.budget.budget_limits import Budget, Limit
from agentsim.budget.recordings import Recording
from agentsim.core.session import Session
from agentsim.traces.samples import make_gate

# gate-after.jsonl, at $3 a million input tokens: writing 3.75, reading 0.30, output 15.
WRITTEN, READ, OUTPUT = 24_800, 94_000, 1_440
COST = WRITTEN * 3_750_000 + READ * 300_000 + OUTPUT * 15_000_000  # picodollars: $0.1428
EQUIVALENTS = (WRITTEN * 125 + READ * 10) * 10_000  # micro-tokens: 40,400
LOST = 9_400 * (3_750_000 - 300_000)  # picodollars: $0.03243
# gate-before.jsonl: the same, but that request 7 reads its 9,400 tokens.
COST_BEFORE = COST - LOST
EQUIVALENTS_BEFORE = EQUIVALENTS - 9_400 * 1_150_000


def after(**changes: Any) -> Session:
    return msgspec.structs.replace(make_gate.session(True), **changes)


def before(**changes: Any) -> Session:
    return msgspec.structs.replace(make_gate.session(False), **changes)


def with_requests(session: Session, **changes: Any) -> Session:
    """The session with these fields changed in each of its requests."""
    return msgspec.structs.replace(
        session, requests=tuple(msgspec.structs.replace(request, **changes) for request in session.requests)
    )


def rows_only(session: Session) -> Session:
    """The session as a log without bodies tells it."""
    return msgspec.structs.replace(with_requests(session, prompt=None, settings=()), completeness="usage")


def budget(*limits: Limit, name: str = "b", **more: Any) -> Budget:
    return Budget(name=name, limits=limits, **more)


def limit(kind: str, value: int | Fraction = 0, **more: Any) -> Limit:
    return Limit(kind=kind, value=Fraction(value), **more)  # type: ignore[arg-type]


def gate(*sessions: Session, budgets: list[Budget], **more: Any) -> Gate:
    recordings = [Recording(session, (f"rec/{session.id}.jsonl",)) for session in sessions]
    return judge(recordings, budgets, **more)


def write(session: Session, path: Path) -> Path:
    from agentsim.traces.readers.agentsim1 import write

    path.parent.mkdir(parents=True, exist_ok=True)
    write([session], path)
    return path
