"""Fits to what logs show, each with how well it fits.

A lifetime is the pause that best parts returns that read everything from those that lost their history. Wilson's
interval (95 %) goes with every share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.shares import wilson
from agentsim.rules.providers import ProviderRules, rules_for
from agentsim.trust.calibrate.pause_returns import FitEvidence, PauseReturn

MINUTE, HOUR = 60, 3600

BINS = (0, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, 24 * HOUR)
"""Beginnings of the spans of pauses that retention is counted in, in seconds."""

STEPS = (1024, 512, 256, 128, 64, 32, 16)
"""Sizes of steps that caches are known to count in, the largest first."""

LEAST_READS = 12
"""Different reads without which nothing is said of a step; fewer agree by chance."""

LEAST_RETURNS = 5
"""Returns in a span without which no loss is written into an override."""

LEAST_LOST = 10
"""So many returns after a lifetime have to find their history gone, where more losses came before it."""

MOST_LOST_BEFORE = 1 / 4
"""The share of the returns within a lifetime that may be lost all the same."""

LEAST_FLOOR = 5
"""A base prefix is named where one of so many losses, or more, left just that."""

_MOSTLY = (98, 100)

Clock = Literal["request_start", "response_end"]


class Lifetime(msgspec.Struct, frozen=True, kw_only=True):
    """A lifetime fitted to returns. ``wrong`` of ``returns`` contradict it: kept for longer, or lost before.

    Every pause between ``least`` and ``most`` seconds fits as well; ``most`` is ``None`` where no longer pause was
    seen: then the lifetime is only known to be longer. ``beyond`` returns came later, and ``lost_beyond`` of them found
    their history gone. ``documented`` is what the rules say, and ``value`` what is proposed: the documented one
    wherever it fits as well, and none where time alone does not part the returns.
    """

    tier: str
    clock: Clock
    returns: int
    kept: int
    lost: int
    least: float
    most: float | None
    wrong: int
    beyond: int
    lost_beyond: int
    documented: int | None
    value: int | None


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Returns after pauses from ``start`` up to ``end`` seconds; ``low`` and ``high`` bound the share that was kept."""

    start: int
    end: int | None
    kept: int
    partly: int
    lost: int
    low: float
    high: float

    @property
    def returns(self) -> int:
        """All of them."""
        return self.kept + self.partly + self.lost


class Quantum(msgspec.Struct, frozen=True, kw_only=True):
    """The step that reads are counted in: ``fits`` of ``reads`` different ones are ``offset`` and whole steps."""

    step: int
    offset: int
    reads: int
    fits: int


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """What stays when a history is lost: tools and system text. It was read ``times`` times, in ``sessions``."""

    model: str
    tokens: int
    times: int
    sessions: int
    losses: int


class CalibratedRules(msgspec.Struct, frozen=True, kw_only=True):
    """What was fitted for one provider."""

    provider: str
    models: tuple[str, ...]
    sessions: int
    returns: int
    lifetimes: tuple[Lifetime, ...]
    retention: tuple[tuple[str, tuple[Bin, ...]], ...]
    """By tier."""
    quantum: Quantum | None
    floors: tuple[Floor, ...]


def fit(seen: FitEvidence) -> tuple[CalibratedRules, ...]:
    """Fit each provider that logs hold returns of, the most returns first."""
    providers = Counter(item.provider for item in seen.returns)
    return tuple(_provider(name, seen) for name, _ in sorted(providers.items(), key=lambda item: (-item[1], item[0])))


def _provider(name: str, seen: FitEvidence) -> CalibratedRules:
    returns = [item for item in seen.returns if item.provider == name]
    models = Counter(item.model for item in returns)
    main = max(models, key=lambda model: (models[model], model))
    rules = _rules(name, main)
    tiers = sorted({item.tier for item in returns})
    return CalibratedRules(
        provider=name,
        models=tuple(sorted(models)),
        sessions=len({item.session for item in returns}),
        returns=len(returns),
        lifetimes=tuple(_lifetime(tier, [item for item in returns if item.tier == tier], rules) for tier in tiers),
        retention=tuple((tier, _bins([item for item in returns if item.tier == tier])) for tier in tiers),
        quantum=_quantum([tokens for provider, _, tokens in seen.reads if provider == name]),
        floors=_floors([item for item in seen.floors if item[0] == name]),
    )


def _rules(provider: str, model: str) -> ProviderRules | None:
    try:
        return rules_for(provider, model, None)
    except ValueError:
        return None


def _lifetime(tier: str, returns: Sequence[PauseReturn], rules: ProviderRules | None) -> Lifetime:
    documented = None
    if rules is not None and rules.eviction == "lifetime":
        documented = rules.ttl_long if tier == "1h" else rules.ttl_short
    clocks: tuple[Clock, ...] = ("request_start", "response_end")
    if rules is not None and rules.ttl_clock == "response_end":
        clocks = clocks[::-1]
    # Of two clocks that fit as well the documented one is taken: it is tried first.
    return min((_parted(tier, returns, clock, documented) for clock in clocks), key=lambda one: one.wrong)


def _parted(tier: str, returns: Sequence[PauseReturn], clock: Clock, documented: int | None) -> Lifetime:
    pauses = sorted(
        (pause / SECOND, item.outcome == "kept")
        for item in returns
        if item.outcome != "partly"
        and (pause := item.since_start if clock == "request_start" else item.since_end) is not None
    )
    kept = sum(was_kept for _, was_kept in pauses)
    # Wrong where the lifetime ends before every pause: whatever was kept.
    wrong = best = kept
    at = -1
    for number, (_, was_kept) in enumerate(pauses):
        wrong += -1 if was_kept else 1
        if wrong <= best:
            best, at = wrong, number
    least = pauses[at][0] if at >= 0 else 0.0
    most = pauses[at + 1][0] if at + 1 < len(pauses) else None
    beyond = len(pauses) - at - 1
    lost_beyond = sum(not was_kept for _, was_kept in pauses[at + 1 :])
    value: int | None = None
    lost = len(pauses) - kept
    # Time explains the losses where most returns after the pause lost their history, and few before it did: few of all
    # losses, or, where long pauses are rare, a share that is surely small.
    few_before = lost_beyond * 2 >= lost or (
        lost_beyond >= LEAST_LOST and wilson(lost - lost_beyond, at + 1)[1] < MOST_LOST_BEFORE
    )
    if most is not None and lost_beyond >= 2 and few_before and lost_beyond * 5 >= beyond * 4:
        fits = documented is not None and least <= documented <= most
        value = documented if fits else round((least + most) / 2)
    return Lifetime(
        tier=tier,
        clock=clock,
        returns=len(pauses),
        kept=kept,
        lost=lost,
        least=least,
        most=most,
        wrong=best,
        beyond=beyond,
        lost_beyond=lost_beyond,
        documented=documented,
        value=value,
    )


def _bins(returns: Sequence[PauseReturn]) -> tuple[Bin, ...]:
    bins = []
    for start, end in zip(BINS, (*BINS[1:], None), strict=True):
        inside = Counter(
            item.outcome
            for item in returns
            if item.since_start >= start * SECOND and (end is None or item.since_start < end * SECOND)
        )
        count = sum(inside.values())
        if count:
            low, high = wilson(inside["kept"], count)
            bins.append(
                Bin(
                    start=start,
                    end=end,
                    kept=inside["kept"],
                    partly=inside["partly"],
                    lost=inside["lost"],
                    low=low,
                    high=high,
                )
            )
    return tuple(bins)


def _quantum(reads: Iterable[int]) -> Quantum | None:
    different = sorted(set(reads))
    if len(different) < LEAST_READS:
        return None
    for step in STEPS:
        offset, fits = Counter(read % step for read in different).most_common(1)[0]
        if fits * _MOSTLY[1] >= len(different) * _MOSTLY[0]:
            return Quantum(step=step, offset=offset, reads=len(different), fits=fits)
    return Quantum(step=1, offset=0, reads=len(different), fits=len(different))


def _floors(floors: Sequence[tuple[str, str, str, int]]) -> tuple[Floor, ...]:
    found = []
    for model in sorted({item[1] for item in floors}):
        mine = [item for item in floors if item[1] == model]
        counts = Counter(tokens for _, _, _, tokens in mine)
        tokens, times = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if times > 1 and times * LEAST_FLOOR >= len(mine):
            sessions = len({session for _, _, session, size in mine if size == tokens})
            found.append(Floor(model=model, tokens=tokens, times=times, sessions=sessions, losses=len(mine)))
    return tuple(found)
