"""Which settings would have saved most in recorded sessions: chosen on the older part, held against the newer one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from agentsim.core.dates import DAY
from agentsim.core.session import Session
from agentsim.diagnose.harness_settings import is_older, known_harness
from agentsim.tuning.recorded_lifetimes import RecordedLifetimes, lifetimes_of
from agentsim.tuning.saving_shares import FEWEST, SessionSaving, ShareInterval, predicted_share, share_of
from agentsim.tuning.tunable_setting import TunableSetting, tunable_harnesses, tunable_settings
from agentsim.whatif.backtest_standing import fails
from agentsim.whatif.comparison_result import NotTried
from agentsim.whatif.policies import Policy, parse
from agentsim.whatif.policy_simulation import CannotSimulate, Case, add_up, prepare, simulate, under
from agentsim.whatif.saving_interval import LivedCase, interval_of

Progress = Callable[[int, int], object]


class TunedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """One setting, tried. ``older`` and ``newer`` are what it saved in the two parts, in picodollars (0: nothing),
    ``reason`` why it is not proposed, empty for one that is."""

    setting: TunableSetting
    older: int = 0
    newer: int = 0
    reason: str = ""


class TuneProposal(msgspec.Struct, frozen=True, kw_only=True):
    """What to write into the settings of a harness, and what that is predicted to save.

    Money in picodollars, times in nanoseconds. ``older`` and ``newer`` count the sessions of the two parts. ``best``
    holds at most one setting of each slot, those that saved most in both parts; ``predicted`` is what they save of the
    bills that follow, ``None`` where there is none. ``lifetimes`` are those that the sessions asked for: the saving is
    against them.
    """

    harness: str
    version: str | None
    older: int
    newer: int
    cost: int
    newer_cost: int
    first: int
    last: int
    lifetimes: RecordedLifetimes
    tried: tuple[TunedPolicy, ...]
    best: tuple[TunedPolicy, ...] = ()
    predicted: ShareInterval | None = None
    left_out: tuple[NotTried, ...] = ()

    @property
    def chosen(self) -> tuple[TunedPolicy, ...]:
        """What is proposed: the best, where it saves for certain."""
        return self.best if self.predicted is not None and self.predicted.low > 0 else ()

    @property
    def monthly(self) -> tuple[int, int, int] | None:
        """What thirty days of such sessions are predicted to save: the best guess, the least and the most."""
        if self.predicted is None:
            return None
        days = max((self.last - self.first) / DAY, 1.0)
        month = int(self.cost * 30 / days)
        return tuple(
            month * share // 1_000_000 for share in (self.predicted.share, self.predicted.low, self.predicted.high)
        )  # type: ignore[return-value]


class CannotTune(ValueError):
    """No setting can be chosen from these sessions, and why."""


def choose_settings(
    sessions: Iterable[Session], *, held_out: int = 25, harness: str | None = None, progress: Progress | None = None
) -> TuneProposal:
    """Choose settings on the older sessions and hold them against the newest ``held_out`` per cent.

    ``harness`` is whose settings are meant; by default that whose settings can be written. ``progress`` is told how
    many steps of how many are done. Raises CannotTune.
    """
    wanted = (harness,) if harness is not None else tunable_harnesses()
    name, cases, left = _cases(sessions, wanted)
    lifetimes = lifetimes_of(cases[-1].session)
    alike = [case for case in cases if lifetimes_of(case.session).agrees(lifetimes)]
    for case in alike:  # what the newest session does not tell, the others do
        told = lifetimes_of(case.session)
        lifetimes = RecordedLifetimes(lifetimes.main or told.main, lifetimes.children or told.children)
    alike = [case for case in alike if lifetimes_of(case.session).agrees(lifetimes)]
    kept = {case.session.id for case in alike}
    left += [
        NotTried(name=case.session.id, reason="it asked for other lifetimes")
        for case in cases
        if case.session.id not in kept
    ]
    if len(alike) < FEWEST:
        raise CannotTune(
            f"{len(alike)} sessions can be simulated, and fewer than {FEWEST} say nothing of those to come"
        )
    version = next((r.harness_version for r in reversed(alike[-1].session.requests) if r.harness_version), None)
    cut = len(alike) - max(1, len(alike) * held_out // 100)
    settings = tunable_settings(name)
    steps = len(settings) + 1
    tried: list[TunedPolicy] = []
    for number, setting in enumerate(settings):
        if progress is not None:
            progress(number, steps)
        tried.append(_tried(setting, version, alike, cut))
    chosen = _best(tried)
    predicted = None
    if chosen:
        compared = sum(bool(one.older) for one in tried)
        predicted = _predicted([parse(one.setting.policy) for one in chosen], alike, compared)
        if predicted.low <= 0:
            reason = "it may as well cost more in the sessions to come"
            tried = [msgspec.structs.replace(one, reason=reason) if one in chosen else one for one in tried]
            chosen = [msgspec.structs.replace(one, reason=reason) for one in chosen]
    return TuneProposal(
        harness=name,
        version=version,
        older=cut,
        newer=len(alike) - cut,
        cost=sum(case.sums.cost for case in alike),
        newer_cost=sum(case.sums.cost for case in alike[cut:]),
        first=began(alike[0].session),
        last=max(max(r.end or r.start or 0 for r in case.session.requests) for case in alike),
        lifetimes=lifetimes,
        tried=tuple(tried),
        best=tuple(chosen),
        predicted=predicted,
        left_out=tuple(left),
    )


def began(session: Session) -> int:
    """When the first request of a session was sent, in nanoseconds; 0 where none has a time."""
    return min((request.start for request in session.requests if request.start is not None), default=0)


def simulated_cases(sessions: Iterable[Session], harnesses: Sequence[str]) -> tuple[list[Case], list[NotTried]]:
    """The sessions of these harnesses that can be simulated and have a price, oldest first, and why others cannot."""
    left: list[NotTried] = []
    cases: list[Case] = []
    for session in sessions:
        known = known_harness(session.harness or session.format)
        if known is None or known.name not in harnesses:
            continue
        try:
            case = prepare(session)
        except CannotSimulate as error:
            left.append(NotTried(name=session.id, reason=str(error)))
            continue
        if not began(session):
            left.append(NotTried(name=session.id, reason="its requests have no times"))
        elif not case.calibration.holds:
            left.append(
                NotTried(name=session.id, reason="the recorded run, simulated, does not come out as the log says")
            )
        elif case.sums.unpriced or not case.sums.cost:
            left.append(NotTried(name=session.id, reason="not every request has a price"))
        else:
            cases.append(case)
    return sorted(cases, key=lambda case: (began(case.session), case.session.id)), left


def savings_under(policies: Sequence[Policy], cases: Sequence[Case]) -> list[LivedCase]:
    """Each session as it goes under policies."""
    found = []
    for case in cases:
        session, applied = under(case, policies)
        lived = add_up(simulate(case, session)) if applied else case.sums
        found.append(LivedCase(case, session if applied else None, lived))
    return found


def _cases(sessions: Iterable[Session], harnesses: Sequence[str]) -> tuple[str, list[Case], list[NotTried]]:
    every = list(sessions)
    for name in harnesses:
        cases, left = simulated_cases(every, (name,))
        if cases:
            return name, cases, left
    present = sorted({session.harness or session.format for session in every})
    if not present:
        raise CannotTune("there are no sessions")
    titles = " or ".join(known.title for name in harnesses if (known := known_harness(name)) is not None)
    raise CannotTune(
        f"no session of {titles or ' or '.join(harnesses)} can be simulated; these are of {', '.join(present)}"
    )


def _tried(setting: TunableSetting, version: str | None, cases: Sequence[Case], cut: int) -> TunedPolicy:
    policy = parse(setting.policy)
    if is_older(version, setting.since):
        return TunedPolicy(setting=setting, reason=f"it needs version {setting.since}; these are of {version}")
    if fails(policy.name):
        return TunedPolicy(setting=setting, reason="predictions of it failed where agents really followed it")
    lived = savings_under([policy], cases)
    if all(one.session is None for one in lived):
        return TunedPolicy(setting=setting, reason=policy.applies(cases[-1].session) or "it changes nothing")
    saved = [one.case.sums.cost - one.sums.cost for one in lived]
    older, newer = sum(saved[:cut]), sum(saved[cut:])
    reason = ""
    if policy.changes is not None:
        reason = "the model would be shown something else, and whether it works as well is not simulated"
    elif older <= 0:
        reason = "it costs more" if older else "it changes nothing"
    elif newer <= 0:
        reason = "it saved in the older sessions and not in the newer ones"
    return TunedPolicy(setting=setting, older=older, newer=newer, reason=reason)


def _best(tried: list[TunedPolicy]) -> list[TunedPolicy]:
    """The best of each slot by the older sessions; why the others are not chosen is written into ``tried``."""
    best: dict[str, TunedPolicy] = {}
    for one in tried:
        if not one.reason and (one.setting.slot not in best or one.older > best[one.setting.slot].older):
            best[one.setting.slot] = one
    for number, one in enumerate(tried):
        if not one.reason and best[one.setting.slot] is not one:
            tried[number] = msgspec.structs.replace(one, reason="another one saves more")
    return list(best.values())


def _predicted(policies: Sequence[Policy], cases: Sequence[Case], compared: int) -> ShareInterval:
    lived = savings_under(policies, cases)
    savings = [SessionSaving(one.case.sums.cost, one.case.sums.cost - one.sums.cost) for one in lived]
    saving, cost = sum(one.saving for one in savings), sum(one.cost for one in savings)
    worlds = interval_of(lived, saving, policies)
    down, up = share_of(saving - worlds.low, cost), share_of(worlds.high - saving, cost)
    return predicted_share(savings, tried=compared).widened(down, up)
