"""Simulate a session under policies. Runs in workers: nothing here touches a widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

import msgspec

from agentsim.core.session import Row, Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.whatif.backtest_standing import is_unproven
from agentsim.whatif.fix_savings import Saving, fix_of
from agentsim.whatif.policies import Policy
from agentsim.whatif.policy_simulation import CannotSimulate, Case, SimulatedSums, add_up, prepare, simulate, under
from agentsim.whatif.saving_interval import LivedCase, SavingInterval, interval_of


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A session under policies: its rows by request with their verdicts, rows that were added, and the sums.

    ``base`` and ``base_rows`` are those simulated as recorded. ``idle`` are chosen policies that had nothing to do,
    with the reason.
    """

    session: Session
    ordered: tuple[Row, ...]
    rows: Mapping[str, Row]
    verdicts: Mapping[str, Verdict]
    added: tuple[Row, ...]
    sums: SimulatedSums
    base: SimulatedSums
    base_rows: Mapping[str, Row]
    priced: bool
    idle: tuple[tuple[str, str], ...] = ()


class AloneSaving(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy saves by itself (picodollars; ``None``: not to be said), or the ``reason`` why it has nothing to
    do."""

    saving: int | None = None
    interval: SavingInterval | None = None
    reason: str | None = None


class Workbench:
    """One session ready for what-ifs. Prepared once, by whichever worker asks first."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self._lock = Lock()
        self._case: Case | None = None
        self._why_not: str | None = None

    def renew(self, diagnosis: Diagnosis) -> None:
        """The session has grown."""
        with self._lock:
            self.diagnosis, self._case, self._why_not = diagnosis, None, None

    def case(self) -> Case:
        """The simulated session. Raises CannotSimulate."""
        with self._lock:
            if self._why_not is not None:
                raise CannotSimulate(self._why_not)
            if self._case is None:
                try:
                    self._case = prepare(self.diagnosis.session, self.diagnosis.verdicts)
                except CannotSimulate as error:
                    self._why_not = str(error)
                    raise
            return self._case

    def priced(self, case: Case) -> bool:
        """Whether differences may be given in money: the simulation holds, and there are prices."""
        return case.calibration.holds and not (case.sums.unpriced and not case.sums.cost)

    def alone(self, policy: Policy) -> AloneSaving:
        """What one policy saves by itself, or why it has nothing to do. Raises CannotSimulate."""
        case = self.case()
        try:
            reason = policy.applies(case.session)
            if reason is not None:
                return AloneSaving(reason=reason)
            session, _ = under(case, [policy])
            sums = add_up(simulate(case, session))
            if sums.refused > case.sums.refused:
                return AloneSaving(reason="the provider would refuse requests")
            if not self.priced(case) or is_unproven(policy.name):
                return AloneSaving()
            saving = case.sums.cost - sums.cost
            return AloneSaving(saving=saving, interval=interval_of([LivedCase(case, session, sums)], saving, [policy]))
        except CannotSimulate:
            raise
        except Exception as error:  # one policy's defect must not take the others, and the screen, with it
            return AloneSaving(reason=f"a defect of agentsim: {type(error).__name__}: {error}")

    def revise(self, policies: Sequence[Policy]) -> Revision:
        """The session under several policies at once. Raises CannotSimulate."""
        case = self.case()
        session, applied = under(case, policies)
        ordered = simulate(case, session) if applied else case.rows
        known = {request.id for request in case.session.requests}
        names = {policy.name for policy in applied}
        idle = [(policy.name, policy.applies(case.session) or "") for policy in policies if policy.name not in names]
        return Revision(
            session=session,
            ordered=tuple(ordered),
            rows=_by_id(ordered),
            verdicts={verdict.request: verdict for verdict in judged(session, ordered).verdicts} if applied else {},
            added=tuple(row for row in ordered if row.request.id not in known and row.request.counted),
            sums=add_up(ordered),
            base=case.sums,
            base_rows=_by_id(case.rows),
            priced=self.priced(case),
            idle=tuple(idle),
        )

    def saving(self, index: int) -> Saving | None:
        """What the fix of one lost row saves over the session.

        ``None`` where no policy undoes its cause, or nothing can be said.
        """
        verdict = self.diagnosis.verdicts[index]
        fix = fix_of(verdict, self.diagnosis.session) if verdict.kind == "miss" else None
        if fix is None:
            return None
        try:
            case = self.case()
        except CannotSimulate:
            return None
        if not case.calibration.holds or fix.applies(case.session) is not None:
            return None
        rows = simulate(case, fix.rewrite(case.session))
        sums = add_up(rows)
        own = next((row for row in rows if row.request.id == verdict.request), None)
        if own is None or sums.refused > case.sums.refused:
            return None
        priced = self.priced(case)
        return Saving(
            request=verdict.request,
            cause=verdict.cause or "",
            policy=fix,
            cost=case.sums.cost - sums.cost if priced else None,
            equivalents=case.sums.equivalents - sums.equivalents if priced else None,
            written=own.usage.write or 0,
            read=own.usage.read or 0,
        )


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.request.id: row for row in rows}


def judged(session: Session, ordered: Iterable[Row]) -> Diagnosis:
    """A revised session and its simulated rows with verdicts, as if it had been recorded so."""
    requests = tuple(msgspec.structs.replace(row.request, usage=row.usage) for row in ordered if row.request.counted)
    return diagnose(msgspec.structs.replace(session, requests=requests, completeness="full"))


__all__ = ["CannotSimulate", "Revision", "Workbench", "judged"]
