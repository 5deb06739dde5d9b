"""The rules of one provider for one model at one time, resolved from its dated rules file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentsim.core.near_words import did_you_mean
from agentsim.core.prompt import Section

Matching = Literal["breakpoint", "longest_prefix", "unit", "slot"]
Confidence = Literal["high", "medium", "low"]
LookbackCounts = Literal["block", "run", "breakpoint", "own"]
Implicit = Literal["none", "newest_input"]
Count = Annotated[int, msgspec.Meta(ge=0)]
Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]


class RuleFigure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where one figure comes from. ``alternatives`` are (value, source) of other readings, as text for people.

    ``provider`` is whose file states it, ``line`` where; ``since`` and ``until`` are days as text, where it is dated.
    """

    rule: str
    value: str
    source: str
    confidence: Confidence
    alternatives: tuple[tuple[str, str], ...] = ()
    provider: str = ""
    file: str = ""
    line: int | None = None
    since: str | None = None
    until: str | None = None


class SettingRule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a change of one setting makes unreadable: the sections whose entries carry it in their key."""

    name: str
    sections: tuple[Section, ...]
    same_as_absent: tuple[str, ...] = ()
    confidence: Confidence = "high"


class ProviderRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider's prompt cache works for one model. Durations are seconds; see the rules file for each source.

    ``lookback`` counts positions with the breakpoint's own block as the first. ``lookback_counts`` says what one
    position is: a block; a run of tool_use (or tool_result) blocks; or a breakpoint, of this request or one that the
    provider set itself at the end of an earlier message. With "own" only the request's own breakpoints are looked up.
    ``implicit`` says where the provider sets a breakpoint by itself ("newest_input": behind the newest message of a
    user or a tool) unless a request declines it. ``closing`` tokens stand behind the last message of every prompt and
    are never kept. ``ttl_grace`` and ``ttl_grace_long`` are how
    long after a short or a long lifetime an entry may still be found: neither outcome contradicts the rules then.
    ``lives_short`` and ``lives_long`` are seconds that
    entries of the short and the long lifetime were seen to live; 0 is as long as a request asked.
    ``readable_doubt`` is the same for the time after an entry became readable. What is read is counted in whole
    multiples of ``quantum`` tokens. With ``thinking`` ``last_turn`` a model is not shown the thinking of earlier turns:
    it is dropped when content comes that is no result of a tool. A ``server_tool_ttl`` is the lifetime of entries that
    the provider makes itself behind the results of tools that it runs, for a request that carries a breakpoint. With
    ``fallback_credit`` a request that another model refused is billed as if what was warm there were read.
    ``billing_header`` says whether the text that a coding agent puts in front of its system prompt for accounting
    alone is part of the key.

    ``usage`` says whether a response counts cached tokens ``apart`` from its input or ``inside`` it. A counter of reads
    that never falls below ``read_floor`` says nothing so far: so many tokens in it are no read. With
    ``write_fee`` ``none`` what is written costs what ordinary input does. ``storage`` says whether keeping an entry is
    billed by tokens and hours, ``scope`` who shares one. With ``ttl_chosen`` a request may ask for the long lifetime
    although entries are not at breakpoints: the breakpoint that it carries then only says so; ``ttl_unasked`` is the
    lifetime there of those who ask for none. Where ``needs_setting``
    names a setting, a request without it is not cached at all.

    ``eviction`` is what ends an entry: its lifetime, want of room (``capacity`` tokens; 0: not known), or the next
    request in its slot (``slots`` of them; a request takes one that shares more than ``slot_similarity`` percent of
    its prompt). With a ``checkpoint_step`` a slot can only go back to a multiple of so many tokens. After ``pause``
    seconds without use a prefix that was found by itself was seen to be gone, whatever lifetime is published.
    A ``route_header`` of a request sends a conversation back to the machine that has its prefix.

    The parts that are chance are used by :mod:`agentsim.cache.provider_chance` alone: ``route_hosts`` caches that know
    nothing of each other; a conversation stays with one until it was idle for ``route_sticky`` seconds, or sends more
    than ``route_per_minute`` requests a minute, and changes it in ``route_switch`` percent of its requests; after an
    idle time (seconds) of ``early_loss`` so many percent of the returns find their history gone.
    """

    provider: str
    model: str
    matching: Matching
    order: tuple[Section, ...]
    lookback: Count
    lookback_counts: LookbackCounts
    breakpoints: Count
    on_excess: Literal["reject", "keep_latest"]
    shape_in_key: bool
    minimum: Count
    ttl_short: Count
    ttl_long: Count
    ttl_clock: Literal["request_start", "response_end"]
    ttl_grace: Count
    ttl_grace_long: Count
    refresh: Literal["ancestors", "hit", "none"]
    readable: Literal["first_token", "request_start", "response_end"]
    first_token_after: Count
    readable_doubt: Count
    ttl_order: Literal["long_first", "any"]
    settings: tuple[SettingRule, ...]
    quantum: Annotated[int, msgspec.Meta(ge=1)] = 1
    implicit: Implicit = "none"
    closing: Count = 0
    thinking: Literal["kept", "last_turn"] = "kept"
    server_tool_ttl: Count = 0
    fallback_credit: bool = False
    billing_header: Literal["in_key", "left_out"] = "in_key"
    usage: Literal["apart", "inside"] = "inside"
    read_floor: Count = 0
    write_fee: Literal["by_lifetime", "none"] = "by_lifetime"
    storage: Literal["none", "token_hours"] = "none"
    scope: Literal["organization", "workspace", "server"] = "organization"
    ttl_chosen: bool = False
    ttl_unasked: Literal["short", "long"] = "short"
    needs_setting: str = ""
    eviction: Literal["lifetime", "lru", "slot"] = "lifetime"
    capacity: Count = 0
    slots: Annotated[int, msgspec.Meta(ge=1)] = 1
    slot_similarity: Percent = 0
    checkpoint_step: Count = 0
    pause: Count = 300
    route_header: str = ""
    lives_short: Count = 0
    lives_long: Count = 0
    route_hosts: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    route_sticky: Count = 0
    route_switch: Percent = 0
    route_per_minute: Count = 0
    early_loss: tuple[tuple[Count, Percent], ...] = ()
    figures: tuple[RuleFigure, ...] = ()

    def with_(self, **changes: Any) -> ProviderRules:
        """These rules with some of them replaced: ``rules.with_(lookback=50, ttl_clock="response_end")``.

        ``settings`` may be given as a mapping from names to sections, which replaces only the settings named. Raises
        TypeError for a rule that does not exist or a value that it cannot have.
        """
        for name in changes:
            if name not in self.__struct_fields__:
                hint = did_you_mean(name, self.__struct_fields__, "see docs/providers.md")
                raise TypeError(f"no rule is called {name!r}; {hint}")
        if isinstance(changes.get("settings"), dict):
            changes["settings"] = self._settings_with(changes["settings"])
        changed = msgspec.structs.replace(self, **changes)
        try:
            return msgspec.convert(msgspec.to_builtins(changed), ProviderRules)
        except msgspec.ValidationError as error:
            raise TypeError(f"a rule cannot have this value: {error}") from None

    def figure(self, rule: str) -> RuleFigure | None:
        """Source and confidence of a rule; a setting is called ``settings.NAME``."""
        return next((figure for figure in self.figures if figure.rule == rule), None)

    def _settings_with(self, sections: dict[str, tuple[Section, ...]]) -> tuple[SettingRule, ...]:
        known = {rule.name: rule for rule in self.settings}
        for name, value in sections.items():
            old = known.get(name, SettingRule(name=name, sections=()))
            known[name] = msgspec.structs.replace(old, sections=tuple(value))
        return tuple(known.values())
