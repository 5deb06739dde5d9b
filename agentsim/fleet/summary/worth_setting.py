"""What the sessions of a summary would have cost under settings that their harness has: at most three, the best first.

Each line is simulated over these sessions, and told only where its sign holds: over all of them it saves, and so it
does when sessions are drawn again (with fewer than five, it makes none of them dearer).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agentsim.diagnose.harness_settings import HarnessSetting, settings_for
from agentsim.fleet.summary.session_study import SessionStudy
from agentsim.harness.random_streams import Streams
from agentsim.whatif.backtest_standing import is_unproven
from agentsim.whatif.cache_bounds import FAMILIES, CacheBound
from agentsim.whatif.policies import policy

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


def worth_setting(studies: Sequence[SessionStudy], sessions: int) -> SettingAdvice:
    """The settings that would have saved most over the sessions that were studied, of so many."""
    cases: dict[str, list[SessionStudy]] = {}
    automatic: dict[str, list[SessionStudy]] = {}
    for study in studies:
        if study.harness is not None and study.bounds is not None:
            automatic.setdefault(study.harness, []).append(study)
        elif study.harness is not None and study.cost is not None:
            cases.setdefault(study.harness, []).append(study)
    lines = [line for name, group in cases.items() for line in _of_harness(name, group)]
    lines += [line for name, group in automatic.items() for line in _bounded(name, group)]
    lines.sort(key=lambda line: (-line.saving, line.setting.set))
    simulated = sum(len(group) for group in cases.values()) + sum(len(group) for group in automatic.values())
    return SettingAdvice(lines=tuple(lines[:MOST_LINES]), simulated=simulated, sessions=sessions)


def _of_harness(name: str, cases: Sequence[SessionStudy]) -> list[WorthSetting]:
    """The best setting for each policy of this harness, as far as it saves."""
    providers = {provider for case in cases for provider in case.providers}
    told: dict[str, WorthSetting] = {}
    for setting in settings_for(name, version=_newest(cases)):
        if not setting.set or (setting.providers and not providers & set(setting.providers)):
            continue
        for kind in setting.policies:
            if kind not in told and policy(kind).changes is None:
                line = _tried(name, setting, kind, cases)
                if line is not None:
                    told[kind] = line
    return list(told.values())


def _bounded(name: str, studies: Sequence[SessionStudy]) -> list[WorthSetting]:
    """The settings whose least saving is above nothing, by the bounds that counters of automatic caches allow: of the
    compactions the best one."""
    sums: dict[str, CacheBound] = {}
    bill = 0
    priced: list[SessionStudy] = []
    for study in studies:
        found = study.bounds
        if found is None or found.bill is None or found.unpriced:
            continue
        bill += found.bill
        priced.append(study)
        for bound in found.bounds:
            before = sums.get(bound.name)
            sums[bound.name] = bound if before is None else _together(before, bound)
    newest = _newest(priced)
    best: dict[str, WorthSetting] = {}
    for bound in sums.values():
        if bound.reason is not None or bound.least is None or bound.least < _LEAST:
            continue
        setting = _setting_against(name, bound, newest)
        name_of_it = "" if setting is None else setting.set.partition(" = ")[0]
        if setting is None or (name_of_it in best and best[name_of_it].saving >= bound.least):
            continue
        best[name_of_it] = WorthSetting(
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


def _newest(studies: Sequence[SessionStudy]) -> str | None:
    return next((study.version for study in reversed(studies) if study.version), None)


def _setting_against(name: str, bound: CacheBound, version: str | None) -> HarnessSetting | None:
    family = FAMILIES.get(bound.name)
    if family is not None:
        causes = sorted(family[1])
        against = [one for cause in causes for one in settings_for(name, cause=cause, version=version)]
        return next((one for one in against if one.set and not one.policies), None)
    for one in settings_for(name, policy="compact-earlier", version=version):
        if one.set and bound.name.startswith("compact-"):
            limit = int(bound.name.removeprefix("compact-"))
            if one.is_limit:
                return msgspec.structs.replace(one, set=f"{one.set} = {limit}")
            effect = f"{one.effect} Here: so that it begins at {limit:,} tokens."
            return msgspec.structs.replace(one, effect=effect)
    return None


def _files(studies: Iterable[SessionStudy]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file for study in studies for file in study.files))


def _tried(harness: str, setting: HarnessSetting, kind: str, cases: Sequence[SessionStudy]) -> WorthSetting | None:
    if is_unproven(kind):
        return None
    savings = [case.savings.get(kind, 0) for case in cases]
    saving = sum(savings)
    dearer = sum(each < 0 for each in savings)
    low, high = _interval(savings)
    if saving < _LEAST or (low <= 0 if low is not None else dearer > 0):
        return None
    return WorthSetting(
        harness=harness,
        setting=setting,
        policy=policy(kind).spec,
        sessions=len(cases),
        changed=sum(kind in case.savings for case in cases),
        costs_more=dearer,
        saving=saving,
        low=low,
        high=high,
        cost=sum(case.cost or 0 for case in cases),
        files=_files(cases),
    )


def _interval(savings: Sequence[int]) -> tuple[int, int] | tuple[None, None]:
    """Between what 95 of 100 sums lie when the sessions are drawn again with replacement."""
    if len(savings) < FEWEST_FOR_INTERVAL:
        return None, None
    draw = Streams(_SEED).stream("sessions drawn again")
    sums = sorted(sum(savings[draw.below(len(savings))] for _ in savings) for _ in range(_RESAMPLES))
    return sums[_RESAMPLES // 40], sums[-1 - _RESAMPLES // 40]
