"""Fits as a rules file of the user's own, to be given with ``--rules``. What fits the bundled rules is left to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from agentsim.core.counts import plural
from agentsim.rules.providers import ProviderRules, rules_for
from agentsim.trust.calibrate.rule_fit import LEAST_RETURNS, MINUTE, Bin, CalibratedRules


def override(found: CalibratedRules, day: date) -> str:
    """The text of a rules file for a provider, on top of its bundled rules.

    Raises ValueError where no rules are bundled for it, or where nothing that was fitted differs from them.
    """
    rules = rules_for(found.provider, found.models[-1], None)
    figures = [*_lifetimes(found, rules), *_quantum(found, rules), *_early_loss(found)]
    if not figures:
        raise ValueError("all that could be fitted agrees with the bundled rules")
    base = rules.provider
    lines = [
        f"# Fitted to {plural(found.returns, 'return')} in {plural(found.sessions, 'session')}. Give it with --rules.",
        "",
        f'provider = "{base}"',
        'title = "fitted to own logs"',
        f"read_until = {day.isoformat()}",
        "",
        "[[like]]",
        f'value = "{base}"',
        'source = "the bundled rules hold wherever this file says nothing"',
        'confidence = "high"',
    ]
    for name, value, source, confidence in figures:
        lines += ["", f"[[{name}]]", f"value = {value}", f'source = "{source}"', f'confidence = "{confidence}"']
    return "\n".join(lines) + "\n"


_SURE = 0.99
"""Where the share that was kept may be as large as this, a loss or two may have been chance."""

Stated = tuple[str, str, str, str]
"""Rule, value, source and confidence, as text of TOML."""


def _lifetimes(found: CalibratedRules, rules: ProviderRules) -> list[Stated]:
    stated: list[Stated] = []
    for life in found.lifetimes:
        if life.value is None or life.value == life.documented or rules.eviction != "lifetime":
            continue
        # Requests ask for lifetimes at breakpoints: those keep their names, whatever they turn out to be.
        rule = "ttl" if rules.matching != "breakpoint" else "lives"
        rule += "_long" if life.tier == "1h" else "_short"
        source = (
            f"fitted to own logs: {plural(life.returns, 'return')}, {life.wrong:,} against it; "
            f"every lifetime from {life.least:.0f} s to {life.most:.0f} s fits as well"
        )
        confidence = "medium" if life.wrong * 20 <= life.returns else "low"
        stated.append((rule, str(life.value), source, confidence))
        if life.clock != rules.ttl_clock and not any(name == "ttl_clock" for name, *_ in stated):
            stated.append(("ttl_clock", f'"{life.clock}"', "fitted to own logs: fewer returns contradict it", "low"))
    return stated


def _quantum(found: CalibratedRules, rules: ProviderRules) -> list[Stated]:
    quantum = found.quantum
    if quantum is None or quantum.step == rules.quantum or rules.matching == "breakpoint":
        return []
    source = f"fitted to own logs: {quantum.fits:,} of {quantum.reads:,} different reads are whole steps"
    return [("quantum", str(quantum.step), source, "medium")]


def _early_loss(found: CalibratedRules) -> list[Stated]:
    """Losses within the lifetime, by pause; never fewer after a longer one."""
    steps: list[tuple[int, int]] = []
    counted = 0
    for tier, bins in found.retention:
        life = next(life for life in found.lifetimes if life.tier == tier)
        end = life.documented if life.value is None else life.value
        steps += _steps(bins, end)
        counted += sum(one.returns for one in bins)
    if not steps:
        return []
    merged: list[tuple[int, int]] = []
    for start, percent in sorted(steps):
        if not merged or percent > merged[-1][1]:
            merged = [step for step in merged if step[0] != start]
            merged.append((start, percent))
    value = "[" + ", ".join(f"[{start}, {percent}]" for start, percent in merged) + "]"
    source = f"fitted to own logs: histories lost before their lifetime ended, {plural(counted, 'return')}"
    return [("early_loss", value, source, "low")]


def _steps(bins: Sequence[Bin], lifetime: int | None) -> list[tuple[int, int]]:
    steps = []
    for one in bins:
        end = one.start + MINUTE if one.end is None else one.end
        if one.returns < LEAST_RETURNS or (lifetime is not None and end > lifetime):
            continue
        percent = round((one.lost + one.partly) * 100 / one.returns)
        if percent and one.high < _SURE:
            steps.append((one.start, percent))
    return steps
