"""Recorded sessions cut at the middle: settings chosen on the first half, judged on the second.

No agent runs again here. What a setting saves on the second half is simulated from that half's own log, as its first
half was; what is judged is whether a choice that was made on what a person had by then holds for what came after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agentsim.core.session import Request, Session
from agentsim.traces.format_registry import read
from agentsim.whatif.backtest_standing import is_unproven
from agentsim.whatif.comparison import CannotSimulate, Comparison, compare
from agentsim.whatif.policies import NAMES

FEWEST = 20
"""Requests of a session that is cut."""
SETTABLE: tuple[str, ...] = tuple(
    name for name in NAMES if name.startswith(("ttl-", "keep-alive", "compact-earlier")) and not is_unproven(name)
)
"""What a person sets in a harness, as far as dollars are told of it."""


@dataclass(frozen=True)
class NaturalHalf:
    """The choice for one session, with what it saves in each half, as shares of the half's bill. ``policy`` is ``None``
    where no saving was told on the first half; ``best`` is the most that one of the settings saves on the second."""

    session: str
    policy: str | None
    foretold: float
    came: float
    best: float


def halves_of(session: Session) -> tuple[Session, Session] | None:
    """The requests before the middle one and those from it on; ``None`` for a short session."""
    requests = session.requests
    if len(requests) < FEWEST:
        return None
    middle = len(requests) // 2
    return _part(session, requests[:middle]), _part(session, requests[middle:])


def _part(session: Session, requests: Sequence[Request]) -> Session:
    ids = {request.id for request in requests}
    kept = tuple(
        msgspec.structs.replace(request, parent=request.parent if request.parent in ids else None)
        for request in requests
    )
    return msgspec.structs.replace(
        session, requests=kept, events=tuple(event for event in session.events if event.before in ids)
    )


def natural_halves(paths: Sequence[Path]) -> Iterator[NaturalHalf]:
    """Every session that can be simulated in both halves."""
    for session in read([str(path) for path in paths]):
        parts = halves_of(session)
        if parts is None:
            continue
        try:
            first, second = (compare(part, SETTABLE) for part in parts)
        except CannotSimulate:
            continue
        if first.withheld or second.withheld or not first.recorded.cost or not second.recorded.cost:
            continue
        yield _judged(session.id, first, second)


def _judged(name: str, first: Comparison, second: Comparison) -> NaturalHalf:
    told = [outcome for outcome in first.outcomes if outcome.told is not None and outcome.told > 0]
    chosen = max(told, key=lambda outcome: outcome.told or 0, default=None)
    came = {outcome.policy.spec: outcome.saving or 0 for outcome in second.outcomes}
    by_name = {outcome.policy.name: outcome.saving or 0 for outcome in second.outcomes}
    best = max([0, *came.values()]) / second.recorded.cost
    if chosen is None:
        return NaturalHalf(name, None, 0.0, 0.0, best)
    saved = came.get(chosen.policy.spec, by_name.get(chosen.policy.name, 0))
    return NaturalHalf(
        name, chosen.policy.spec, (chosen.told or 0) / first.recorded.cost, saved / second.recorded.cost, best
    )


def halves_table(found: Sequence[NaturalHalf]) -> str:
    """As Markdown."""
    lines = [
        "| session | chosen on the first half | saves there % | on the second % | best there % |",
        "|--|--|--|--|--|",
    ]
    for half in found:
        lines.append(
            f"| {half.session[:13]} | {'–' if half.policy is None else f'`{half.policy}`'} | {100 * half.foretold:.1f} "
            f"| {100 * half.came:.1f} | {100 * half.best:.1f} |"
        )
    kept = [half for half in found if half.policy is not None]
    right = sum(half.came >= 0 for half in kept)
    lines += ["", f"{len(found)} sessions; a setting was chosen for {len(kept)}, and cost nothing more in {right}."]
    return "\n".join(lines)
