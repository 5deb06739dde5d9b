"""What the sessions of a summary would have cost under settings that their harness has: at most three, the best first.

Each line is simulated over these sessions, and told only where its sign holds: over all of them it saves, and so it
does when sessions are drawn again (with fewer than five, it makes none of them dearer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from agentsim.core.session import Problem, Session
from agentsim.diagnose.harness_settings import HarnessSetting, known_harness, settings_for
from agentsim.fleet.summary.summary_shape import SessionLine
from agentsim.harness.random_streams import Streams
from agentsim.traces.format_registry import read
from agentsim.whatif.cache_bounds import FAMILIES, CacheBound, bounds, is_automatic
from agentsim.whatif.policies import Policy, policy
from agentsim.whatif.policy_simulation import CannotSimulate, Case, add_up, prepare, simulate, under

MOST_REQUESTS = 3_000
"""Requests that are simulated at most: those of the sessions that lost most."""

MOST_LINES = 3
FEWEST_FOR_INTERVAL = 5
_RESAMPLES = 400
_SEED = 20_261_130
_LEAST = 10**10
"""A cent, in picodollars: less is not worth a line."""


class WorthSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that would have saved something. ``saving``, ``low``, ``high`` and ``cost`` in picodollars: what it
    saves in all, between what over sessions drawn again (``None`` with fewer than five), and what the sessions cost.

    ``sessions`` is how many were simulated, ``changed`` in how many the setting had something to do, and ``costs_more``
    in how many it would have cost more. Where a provider keeps prompts by itself nothing can be simulated: then
    ``policy`` is ``None``, and ``low`` and ``high`` are the least and the most that the counters allow, under
    ``condition``. ``files`` are those of the sessions.
    """

    harness: str
    setting: HarnessSetting
    policy: str | None
    sessions: int
    changed: int
    costs_more: int
    saving: int
    low: int | None
    high: int | None
    cost: int
    condition: str = ""
    files: tuple[str, ...] = ()


class SettingAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """What to set, and over how many of the sessions that was simulated."""

    lines: tuple[WorthSetting, ...]
    simulated: int
    sessions: int


def worth_setting(
    sessions: Sequence[SessionLine], progress: Callable[[int, int], object] | None = None
) -> SettingAdvice:
    """The settings that would have saved most over these sessions, the dearest losses first where there are too many.

    ``progress`` is told how many sessions of how many were taken in.
    """
    chosen = _affordable(sessions)
    cases: dict[str, list[Case]] = {}
    automatic: dict[str, list[Session]] = {}
    for done, session in enumerate(_sessions(chosen)):
        if progress is not None:
            progress(done, len(chosen))
        known = known_harness(session.harness or session.format)
        if known is None:
            continue
        if is_automatic(session):
            automatic.setdefault(known.name, []).append(session)
            continue
        try:
            case = prepare(session)
        except CannotSimulate:
            continue
        if case.calibration.holds and case.sums.cost and not case.sums.unpriced:
            cases.setdefault(known.name, []).append(case)
    lines = [line for name, group in cases.items() for line in _of_harness(name, group)]
    lines += [line for name, group in automatic.items() for line in _bounded(name, group)]
    lines.sort(key=lambda line: (-line.saving, line.setting.set))
    simulated = sum(len(group) for group in cases.values()) + sum(len(group) for group in automatic.values())
    return SettingAdvice(lines=tuple(lines[:MOST_LINES]), simulated=simulated, sessions=len(sessions))


def _affordable(sessions: Sequence[SessionLine]) -> list[SessionLine]:
    chosen: list[SessionLine] = []
    requests = 0
    for line in sorted(sessions, key=lambda line: (-(line.lost_cost or 0), -(line.cost or 0), line.session)):
        if chosen and requests + line.requests > MOST_REQUESTS:
            continue
        chosen.append(line)
        requests += line.requests
    return chosen


def _sessions(chosen: Sequence[SessionLine]) -> list[Session]:
    files = dict.fromkeys(file for line in chosen for file in line.files)
    wanted = {line.session for line in chosen}
    problems: list[Problem] = []
    return [session for session in read(list(files), problems) if session.id in wanted] if files else []


def _of_harness(name: str, cases: Sequence[Case]) -> list[WorthSetting]:
    """The best setting for each policy of this harness, as far as it saves."""
    newest = _newest([case.session for case in cases])
    providers = {request.provider for case in cases for request in case.session.requests}
    told: dict[str, WorthSetting] = {}
    for setting in settings_for(name, version=newest):
        if not setting.set or (setting.providers and not providers & set(setting.providers)):
            continue
        for kind in setting.policies:
            wanted = policy(kind)
            if kind not in told and wanted.changes is None:
                line = _tried(name, setting, wanted, cases)
                if line is not None:
                    told[kind] = line
    return list(told.values())


def _bounded(name: str, sessions: Sequence[Session]) -> list[WorthSetting]:
    """The settings whose least saving is above nothing, by the bounds that counters of automatic caches allow: of the
    compactions the best one."""
    sums: dict[str, CacheBound] = {}
    bill = 0
    priced: list[Session] = []
    for session in sessions:
        found = bounds([session])
        if found is None or found.bill is None or found.unpriced:
            continue
        bill += found.bill
        priced.append(session)
        for bound in found.bounds:
            before = sums.get(bound.name)
            sums[bound.name] = bound if before is None else _together(before, bound)
    newest = _newest(priced)
    best: dict[str, WorthSetting] = {}
    for bound in sums.values():
        if bound.reason is not None or bound.least is None or bound.least < _LEAST:
            continue
        setting = _setting_against(name, bound, newest)
        if setting is None or (setting.set in best and best[setting.set].saving >= bound.least):
            continue
        best[setting.set] = WorthSetting(
            harness=name,
            setting=setting,
            policy=None,
            sessions=len(priced),
            changed=len(priced),
            costs_more=0,
            saving=bound.least,
            low=bound.least,
            high=bound.most,
            cost=bill,
            condition=bound.condition,
            files=_files(priced),
        )
    return list(best.values())


def _together(one: CacheBound, other: CacheBound) -> CacheBound:
    """The bounds of two sessions: nothing is known where one of them is not."""
    least = None if one.least is None or other.least is None else one.least + other.least
    most = None if one.most is None or other.most is None else one.most + other.most
    return msgspec.structs.replace(one, least=least, most=most, reason=one.reason or other.reason)


def _newest(sessions: Sequence[Session]) -> str | None:
    versions = [request.harness_version for session in sessions for request in session.requests]
    return next((version for version in reversed(versions) if version), None)


def _setting_against(name: str, bound: CacheBound, version: str | None) -> HarnessSetting | None:
    family = FAMILIES.get(bound.name)
    if family is not None:
        causes = sorted(family[1])
        against = [one for cause in causes for one in settings_for(name, cause=cause, version=version)]
        return next((one for one in against if one.set and not one.policies), None)
    for one in settings_for(name, policy="compact-earlier", version=version):
        if one.set and bound.name.startswith("compact-"):
            effect = f"{one.effect} Here: so that it begins at {int(bound.name.removeprefix('compact-')):,} tokens."
            return msgspec.structs.replace(one, effect=effect)
    return None


def _files(sessions: Iterable[Session]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file for session in sessions for file in session.files))


def _tried(harness: str, setting: HarnessSetting, wanted: Policy, cases: Sequence[Case]) -> WorthSetting | None:
    savings: list[int] = []
    changed = 0
    for case in cases:
        session, applied = under(case, [wanted])
        changed += bool(applied)
        savings.append(case.sums.cost - add_up(simulate(case, session)).cost if applied else 0)
    saving = sum(savings)
    dearer = sum(each < 0 for each in savings)
    low, high = _interval(savings)
    if saving < _LEAST or (low <= 0 if low is not None else dearer > 0):
        return None
    return WorthSetting(
        harness=harness,
        setting=setting,
        policy=wanted.spec,
        sessions=len(cases),
        changed=changed,
        costs_more=dearer,
        saving=saving,
        low=low,
        high=high,
        cost=sum(case.sums.cost for case in cases),
        files=_files(case.session for case in cases),
    )


def _interval(savings: Sequence[int]) -> tuple[int, int] | tuple[None, None]:
    """Between what 95 of 100 sums lie when the sessions are drawn again with replacement."""
    if len(savings) < FEWEST_FOR_INTERVAL:
        return None, None
    draw = Streams(_SEED).stream("sessions drawn again")
    sums = sorted(sum(savings[draw.below(len(savings))] for _ in savings) for _ in range(_RESAMPLES))
    return sums[_RESAMPLES // 40], sums[-1 - _RESAMPLES // 40]
