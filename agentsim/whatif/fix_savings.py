"""What the fix of each lost cache would have saved: the policy that belongs to the cause, for that row alone.

The whole session is simulated again, so that what the fix does to later rows counts: a refresh has its price, and a
tool that no longer stands at the front can no longer be read there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from agentsim.core.money import PICODOLLARS, format_dollars
from agentsim.core.session import Request, Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.whatif.backtest_standing import is_unproven
from agentsim.whatif.policies import Policy, policy
from agentsim.whatif.policy_simulation import CannotSimulate, Case, add_up, prepare, simulate
from agentsim.whatif.saving_interval import LivedCase, SavingInterval, interval_of

FIXES: Mapping[str, str] = MappingProxyType({one.code: one.policy for one in CAUSES.values() if one.policy is not None})
"""The policy that is the fix of a cause. Causes that no policy undoes (a lost entry, a changed text) have none."""

_PINNED = "pin-"
"""Policies of this beginning keep a value, which concerns all rows that have the other one."""


class Saving(msgspec.Struct, frozen=True, kw_only=True):
    """What one fix saves over the whole session, and what its row would have written and read.

    ``cost`` is in picodollars and ``equivalents`` in micro-tokens of ordinary input, after what the fix itself costs:
    below zero the fix costs more than the loss. ``None`` where there is no price.
    """

    request: str
    cause: str
    policy: Policy
    cost: int | None
    equivalents: int | None
    written: int
    read: int
    interval: SavingInterval | None = None
    """Where the saving lies in the worlds that the log allows."""

    @property
    def is_unproven(self) -> bool:
        """Whether no dollars are told of this policy: it failed where agents really followed it, or was not tried."""
        return is_unproven(self.policy.name)


def savings(diagnosis: Diagnosis) -> tuple[Saving | None, ...]:
    """The saving of each verdict's own fix, one per verdict.

    ``None`` for a row that lost nothing, a cause without a policy, a policy that needs bodies where there are none, and
    everywhere when the session cannot be simulated well enough.
    """
    nothing: tuple[Saving | None, ...] = (None,) * len(diagnosis.verdicts)
    if not any(_is_fixable(verdict) for verdict in diagnosis.verdicts):
        return nothing
    try:
        case = prepare(diagnosis.session, diagnosis.verdicts)
    except CannotSimulate:
        return nothing
    if not case.calibration.holds:
        return nothing
    requests = diagnosis.session.requests
    return tuple(
        _saving(case, diagnosis.session, request, verdict) if request.counted and _is_fixable(verdict) else None
        for request, verdict in zip(requests, diagnosis.verdicts, strict=True)
    )


def with_savings(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with the saving of each fix told beside the fix."""
    verdicts = list(diagnosis.verdicts)
    for number, saving in enumerate(savings(diagnosis)):
        if saving is not None:
            text = verdicts[number].fix or CAUSES[saving.cause].fix
            verdicts[number] = msgspec.structs.replace(verdicts[number], fix=f"{text} {in_words(saving)}")
    return msgspec.structs.replace(diagnosis, verdicts=tuple(verdicts))


def in_words(saving: Saving) -> str:
    """One sentence: what the policy of a fix saves over the session, for this row alone."""
    name = f"Policy {saving.policy.name}, for this row alone,"
    if saving.cost is None or saving.is_unproven:
        return f"{name} would let it read {saving.read:,} and write {saving.written:,} tokens."
    if saving.interval is not None and not saving.interval.sign_holds:
        ends = [saving.interval.low, saving.interval.high]
        places = 2 if max(map(abs, ends)) >= PICODOLLARS else 4
        low, high = (format_dollars(abs(end), places) for end in ends)
        return f"{name} may cost {low} or save {high}: the log does not tell."
    places = 2 if abs(saving.cost) >= PICODOLLARS else 4
    amount = format_dollars(abs(saving.cost), places)
    if saving.cost < 0:
        return f"{name} would have cost {amount} more than it saves."
    return f"{name} would have saved {amount} over the session."


def fix_of(verdict: Verdict, session: Session) -> Policy | None:
    """The policy that undoes one loss, restricted to its row; ``None`` for a cause without one."""
    name = FIXES.get(verdict.cause or "")
    if name is None:
        return None
    given: dict[str, Any] = {} if name in ("marker-best",) else {"only": _rows_of(verdict, session)}
    return msgspec.structs.replace(policy(name), **given)


def _is_fixable(verdict: Verdict) -> bool:
    return verdict.kind == "miss" and verdict.cause in FIXES


def _rows_of(verdict: Verdict, session: Session) -> tuple[str, ...]:
    """The row, and for a setting the rows after it in its lane that keep the changed value."""
    found = CAUSES[verdict.code]
    setting = found.settings[0] if found.settings else None
    if setting is None and not (found.policy or "").startswith(_PINNED):
        return (verdict.request,)
    rows: list[str] = []
    changed: object = None
    lane: str | None = None
    for request in session.requests:
        if request.id == verdict.request:
            lane, changed = request.lane, _value(request, setting)
        if lane is not None and request.lane == lane:
            if _value(request, setting) != changed:
                break
            rows.append(request.id)
    return tuple(rows)


def _value(request: Request, setting: str | None) -> object:
    return request.model if setting is None else dict(request.settings).get(setting)


def _saving(case: Case, session: Session, request: Request, verdict: Verdict) -> Saving | None:
    fix = fix_of(verdict, session)
    if fix is None or fix.applies(case.session) is not None:
        return None
    rewritten = fix.rewrite(case.session)
    rows = simulate(case, rewritten)
    sums = add_up(rows)
    if sums.refused > case.sums.refused:
        return None
    own = next(row for row in rows if row.request.id == request.id)
    priced = not case.sums.unpriced or case.sums.cost > 0
    saved = case.sums.cost - sums.cost
    return Saving(
        request=request.id,
        cause=verdict.cause or "",
        policy=fix,
        cost=saved if priced else None,
        equivalents=case.sums.equivalents - sums.equivalents if priced else None,
        written=own.usage.write or 0,
        read=own.usage.read or 0,
        interval=interval_of([LivedCase(case, rewritten, sums)], saved, [fix]) if priced else None,
    )
