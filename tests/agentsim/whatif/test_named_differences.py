"""The recorded run, simulated, costs what the log says, row by row, or the difference is named and bounds the answer:
over the samples of every reader, as they are and mutated."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec
import pytest

from agentsim.core.session import Request, Session
from agentsim.rules.prices import cost, default_book
from agentsim.traces.format_registry import read
from agentsim.whatif.comparison import compare
from agentsim.whatif.policy_simulation import CannotSimulate, Case, prepare

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"
Change = Callable[[Request, random.Random], Request]


def _counters(request: Request, draw: random.Random) -> Request:
    usage = request.usage
    if usage is None or draw.random() > 0.2:
        return request
    return msgspec.structs.replace(request, usage=msgspec.structs.replace(usage, read=draw.randrange(0, 60_000)))


def _moved(request: Request, draw: random.Random) -> Request:
    if request.start is None or draw.random() > 0.3:
        return request
    later = draw.choice([1, 290, 310, 3_590, 3_700]) * 10**9
    end = None if request.end is None else request.end + later
    return msgspec.structs.replace(request, start=request.start + later, end=end)


def _orphaned(request: Request, draw: random.Random) -> Request:
    return msgspec.structs.replace(request, parent=None) if draw.random() < 0.3 else request


def _unmeasured(request: Request, draw: random.Random) -> Request:
    return msgspec.structs.replace(request, usage=None) if draw.random() < 0.2 else request


CHANGES: dict[str, Change] = {
    "as they are": lambda request, _: request,
    "other counters": _counters,
    "other times": _moved,
    "without parents": _orphaned,
    "without counters": _unmeasured,
}


@lru_cache(maxsize=1)
def samples() -> tuple[Session, ...]:
    return tuple(session for session in read([str(SAMPLES)]) if len(session.requests) > 1)


def difference(case: Case) -> int:
    """The sum of the differences between the rows of the log and those of the simulation, in picodollars."""
    book, total = default_book(), 0
    for row in case.rows:
        usage = row.request.usage
        if not row.request.counted or row.request.prompt is None or usage is None or usage.total_input is None:
            continue
        card = book.card_for(row.request, usage)
        paid = None if card is None else cost(card, usage)
        if paid is not None and row.cost is not None:
            total += abs(paid - row.cost)
    return total


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_difference_is_named_and_bounds_the_answer(name: str) -> None:
    draw, simulated = random.Random(name), 0
    for session in samples():
        changed = tuple(CHANGES[name](request, draw) for request in session.requests)
        given = msgspec.structs.replace(session, requests=changed)
        try:
            case = prepare(given)
        except CannotSimulate:
            continue
        simulated += 1
        off = difference(case)
        assert case.calibration.off == off, session.id
        if name == "as they are":
            assert off == 0, session.id
        for outcome in compare(given, ["no-caching"]).outcomes:
            if outcome.interval is not None:
                assert outcome.interval.high - outcome.interval.low >= 2 * off, session.id
    assert simulated >= 5
