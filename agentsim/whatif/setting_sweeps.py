"""One setting at many values over all sessions: what each would have cost, as a curve.

The value is one number for all of them, as a person sets it in a harness. The sessions are those of a comparison, with
the same gate: where that names no money, neither does the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from agentsim.core.session import Session
from agentsim.whatif.comparison import Comparison, compare
from agentsim.whatif.policies import Policy, policy
from agentsim.whatif.policies.compact import CompactEarlier

RESERVED = 33_000
"""What Claude Code keeps free of its window before it compacts: 20,000 tokens for the summary and 13,000 more."""


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One value. ``setting`` is what to write in the harness; ``cost`` and ``saving`` are picodollars, ``None`` where
    money is withheld; ``least`` and ``most`` are the saving over what the log does not tell, where that is varied.
    ``changed`` is in how many sessions it changes anything, ``added`` how many requests it adds."""

    value: int
    setting: str | None
    policy: str
    cost: int | None
    saving: int | None
    least: int | None = None
    most: int | None = None
    equivalents: int | None
    changed: int
    added: int
    reason: str | None = None


class SettingSweep(msgspec.Struct, frozen=True, kw_only=True):
    """A curve: what is varied, its points in order of their values, and the comparison that they come from."""

    name: str
    title: str
    condition: str
    comparison: Comparison
    points: tuple[SweepPoint, ...]

    @property
    def best(self) -> SweepPoint | None:
        """The point that saves most; ``None`` where none saves anything."""
        saving = [point for point in self.points if point.saving is not None and point.saving > 0]
        return max(saving, key=lambda point: point.saving or 0, default=None)


class _SettingSweep(msgspec.Struct, frozen=True):
    policy: str
    parameter: str
    title: str
    values: tuple[int, ...]
    setting: Callable[[str | None, int], str | None]
    unknown: tuple[Mapping[str, object], ...] = ()


def _compact_setting(harness: str | None, value: int) -> str | None:
    if harness == "claude-code":
        window = value + RESERVED
        return f"autoCompactWindow {window}" if window <= 1_000_000 else None
    if harness == "codex":
        return f"model_auto_compact_token_limit = {value}"
    if harness == "pi":
        return f"compaction.reserveTokens = window - {value}"
    return None


SWEEPS: Mapping[str, _SettingSweep] = MappingProxyType(
    {
        "compact": _SettingSweep(
            "compact-earlier",
            "at",
            "compaction at so many tokens",
            (67_000, 95_000, 120_000, 140_000, 167_000, 200_000, 239_000, 300_000, 400_000, 467_000, 600_000, 800_000),
            _compact_setting,
            CompactEarlier.doubts,
        ),
        "keep-alive": _SettingSweep(
            "keep-alive", "most", "refreshes in a pause, at most", (1, 2, 3, 5, 8, 11, 15, 20, 30), lambda _h, _v: None
        ),
    }
)
"""What can be varied. The first values of ``compact`` are the smallest that Claude Code takes (a window of 100,000)."""


def sweep(
    sessions: Iterable[Session], name: str, *, progress: Callable[[int, int], object] | None = None
) -> SettingSweep:
    """The curve of one setting over sessions. Raises CannotSimulate where none can be simulated, KeyError for a name
    that is not among SWEEPS."""
    varied = SWEEPS[name]
    tried = [policy(varied.policy, **{varied.parameter: value}) for value in varied.values]
    others = [
        policy(varied.policy, **{varied.parameter: value}, **given)
        for value in varied.values
        for given in varied.unknown
    ]
    whole = compare(sessions, [*tried, *others], progress=progress)
    specs = {one.spec for one in tried}
    comparison = msgspec.structs.replace(
        whole,
        outcomes=tuple(outcome for outcome in whole.outcomes if outcome.policy.spec in specs),
        not_tried=tuple(each for each in whole.not_tried if each.name in specs),
    )
    return SettingSweep(
        name=name,
        title=varied.title,
        condition=tried[0].assumes,
        comparison=comparison,
        points=tuple(_points(varied, tried, comparison, whole)),
    )


def _points(
    varied: _SettingSweep, tried: Sequence[Policy], comparison: Comparison, whole: Comparison
) -> Iterable[SweepPoint]:
    possible: dict[object, list[int | None]] = {}
    for found in whole.outcomes:
        possible.setdefault(getattr(found.policy, varied.parameter), []).append(found.saving)
    outcomes = {getattr(outcome.policy, varied.parameter): outcome for outcome in comparison.outcomes}
    reasons = {each.name: each.reason for each in comparison.not_tried}
    for one, value in zip(tried, varied.values, strict=True):
        outcome = outcomes.get(value)
        setting = varied.setting(comparison.harness, value)
        if outcome is None:
            yield SweepPoint(
                value=value,
                setting=setting,
                policy=one.spec,
                cost=None,
                saving=None,
                equivalents=None,
                changed=0,
                added=0,
                reason=reasons.get(one.spec),
            )
            continue
        savings = possible[value] if varied.unknown else []
        # Where one of them changes nothing (a history too short for so large a summary), nothing is saved by it.
        savings += [0] * (1 + len(varied.unknown) - len(savings)) if varied.unknown else []
        told = [saving for saving in savings if saving is not None]
        priced = comparison.withheld is None and outcome.saving is not None
        yield SweepPoint(
            value=value,
            setting=setting,
            policy=outcome.policy.spec,
            cost=outcome.sums.known_cost if priced else None,
            saving=outcome.saving,
            least=min(told) if told and priced else None,
            most=max(told) if told and priced else None,
            equivalents=outcome.saving_equivalents,
            changed=outcome.changed,
            added=outcome.sums.requests - comparison.recorded.requests,
        )
