"""Providers that find the longest prefix by themselves: in steps of tokens, or in units that were stored as a whole.

Longest prefix: what any earlier prompt of the same place shares, rounded down to the step, nothing below the minimum.
Units: a prefix is stored at the end of each input and of each output, at a fixed interval of long inputs, and where two
requests were seen to part; a read is the longest stored unit that the prompt begins with. How long anything stays is
not published: the world draws it, and no log shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.verdicts.breakpoint_world import Billed, Sent
from benchmarks.verdicts.documented_rules import ModelRules, key_of_section, settings_of
from benchmarks.verdicts.wire_positions import Position, count_tokens, positions_of, shared, tokens_of

INTERVAL = 1_024


@dataclass
class Kept:
    """A prompt that was processed: what a later one may share. ``used`` is when it was last written or read."""

    place: str
    key: str
    positions: list[Position]
    readable: float
    used: float
    units: list[int]


@dataclass
class AutomaticWorld:
    """The provider's memory. ``idle`` is hidden: seconds of disuse after which a prompt is gone."""

    rules: ModelRules
    idle: float = 600.0
    kept: list[Kept] = field(default_factory=list)

    def answer(self, sent: Sent, rules: ModelRules | None = None) -> Billed:
        """Serve a request: read what is kept, keep the rest."""
        rules = rules or self.rules
        positions = positions_of(sent.body, rules.api)
        total = tokens_of(positions)
        settings = settings_of(sent.body, positions, rules)
        key = sent.body["model"] + key_of_section(settings, rules, "messages") + str(sent.body.get("prompt_cache_key"))
        self.kept = [old for old in self.kept if sent.start < old.used + self.idle]
        read, parts = 0, []
        for old in self.kept:
            if old.key != key or old.place != sent.place or old.readable > sent.start:
                continue
            common = common_tokens(old.positions, positions)
            parts.append((old, common))
            usable = common if rules.matching == "longest" else max((u for u in old.units if u <= common), default=0)
            found = _in_steps(min(usable, total - 1), rules)
            if found > read:
                read = found
        for old, common in parts:
            if read and _in_steps(common, rules) >= read:
                old.used = sent.start
            if rules.matching == "unit" and common not in old.units:
                old.units.append(common)
        units = [total, *range(INTERVAL, total, INTERVAL)]
        self.kept.append(Kept(sent.place, key, positions, sent.first_token + sent.late, sent.start, units))
        return Billed(total, read, 0, 0, total - read, max(read, _in_steps(total, rules)))

    def forget(self, section: str | None = None) -> None:
        """Hidden: lose all, or (``messages``) all but tools and system text."""
        if section is None:
            self.kept = []
            return
        for old in self.kept:
            old.positions = [position for position in old.positions if position.section != section]
            size = tokens_of(old.positions)
            old.units = [unit for unit in old.units if unit < size] + [size]


def _in_steps(tokens: int, rules: ModelRules) -> int:
    if tokens < rules.minimum or tokens < rules.offset:
        return 0
    found = (tokens - rules.offset) // rules.step * rules.step + rules.offset
    return found if found >= rules.minimum else 0


def common_tokens(one: list[Position], other: list[Position]) -> int:
    """Tokens of the longest common beginning, the equal part of the first different block among them."""
    common = 0
    for before, after in zip(one, other, strict=False):
        if before.data == after.data:
            common += after.tokens
            continue
        if before.kind == after.kind and before.kind != "image":
            common += count_tokens(after.main[: shared(before.main, after.main)])
        break
    return common
