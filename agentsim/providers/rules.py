"""The rules of one provider for one model at one time, resolved from its dated rules file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal

import msgspec

from agentsim.prompt import Section

Matching = Literal["breakpoint", "longest_prefix", "unit"]
Confidence = Literal["high", "medium", "low"]


class Figure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where one figure comes from. ``alternatives`` are (value, source) of other readings, as text for people."""

    rule: str
    value: str
    source: str
    confidence: Confidence
    alternatives: tuple[tuple[str, str], ...] = ()


class SettingRule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a change of one setting makes unreadable: the sections whose entries carry it in their key."""

    name: str
    sections: tuple[Section, ...]
    same_as_absent: tuple[str, ...] = ()
    confidence: Confidence = "high"


class ProviderRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider's prompt cache works for one model. Durations are seconds; see the rules file for each source.

    ``lookback`` counts positions with the breakpoint's own block as the first. ``lookback_counts`` says what one
    position is: a block, or a run of tool_use (or tool_result) blocks. ``ttl_grace`` and ``ttl_grace_long`` are how
    long after a short or a long lifetime an entry may still be found: neither outcome contradicts the rules then.
    ``readable_doubt`` is the same for the time after an entry became readable. What is read is counted in whole
    multiples of ``quantum`` tokens.
    """

    provider: str
    model: str
    matching: Matching
    order: tuple[Section, ...]
    lookback: int
    lookback_counts: Literal["block", "run"]
    breakpoints: int
    on_excess: Literal["reject", "keep_latest"]
    shape_in_key: bool
    minimum: int
    ttl_short: int
    ttl_long: int
    ttl_clock: Literal["request_start", "response_end"]
    ttl_grace: int
    ttl_grace_long: int
    refresh: Literal["ancestors", "hit", "none"]
    ttl_on_reread: Literal["own"]
    readable: Literal["first_token", "request_start", "response_end"]
    first_token_after: int
    readable_doubt: int
    mixed_ttl: Literal["abc"]
    ttl_order: Literal["long_first", "any"]
    settings: tuple[SettingRule, ...]
    quantum: int = 1
    figures: tuple[Figure, ...] = ()

    def with_(self, **changes: Any) -> ProviderRules:
        """These rules with some of them replaced: ``rules.with_(lookback=50, ttl_clock="response_end")``.

        ``settings`` may be given as a mapping from names to sections, which replaces only the settings named. Raises
        TypeError for a rule that does not exist or a value that it cannot have.
        """
        for name in changes:
            if name not in self.__struct_fields__:
                near = get_close_matches(name, self.__struct_fields__, 1)
                raise TypeError(f"no rule is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        if isinstance(changes.get("settings"), dict):
            changes["settings"] = self._settings_with(changes["settings"])
        changed = msgspec.structs.replace(self, **changes)
        try:
            return msgspec.convert(msgspec.to_builtins(changed), ProviderRules)
        except msgspec.ValidationError as error:
            raise TypeError(f"a rule cannot have this value: {error}") from None

    def figure(self, rule: str) -> Figure | None:
        """Source and confidence of a rule; a setting is called ``settings.NAME``."""
        return next((figure for figure in self.figures if figure.rule == rule), None)

    def _settings_with(self, sections: dict[str, tuple[Section, ...]]) -> tuple[SettingRule, ...]:
        known = {rule.name: rule for rule in self.settings}
        for name, value in sections.items():
            old = known.get(name, SettingRule(name=name, sections=()))
            known[name] = msgspec.structs.replace(old, sections=tuple(value))
        return tuple(known.values())
