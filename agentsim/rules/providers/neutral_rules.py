"""What a rule is where a file does not state it: nothing that a cache would do by itself."""

from __future__ import annotations

from agentsim.rules.providers.provider_rules import Matching, RuleFigure

NOT_STATED = "this file does not state it"

YEAR = 365 * 24 * 3600
"""Seconds; stands for no lifetime at all."""

PAUSE = 300
"""Seconds; the shortest time without use after which a provider of an automatic cache says that it may drop a prefix.
In public logs of Codex and OpenCode 14 of 23 rows after longer pauses lost much of it, and 25 of 259 within a minute.
"""

NEUTRAL: dict[str, object] = {
    "order": ("tools", "system", "messages"),
    "lookback": 0,
    "lookback_counts": "block",
    "implicit": "none",
    "closing": 0,
    "breakpoints": 0,
    "on_excess": "keep_latest",
    "shape_in_key": False,
    "quantum": 1,
    "thinking": "kept",
    "server_tool_ttl": 0,
    "fallback_credit": False,
    "billing_header": "in_key",
    "ttl_clock": "request_start",
    "ttl_grace": 0,
    "lives_short": 0,
    "lives_long": 0,
    "refresh": "hit",
    "readable": "first_token",
    "first_token_after": 2,
    "readable_doubt": 0,
    "ttl_order": "any",
    "usage": "inside",
    "read_floor": 0,
    "write_fee": "by_lifetime",
    "storage": "none",
    "scope": "organization",
    "ttl_chosen": False,
    "ttl_unasked": "short",
    "needs_setting": "",
    "eviction": "lifetime",
    "capacity": 0,
    "slots": 1,
    "slot_similarity": 0,
    "checkpoint_step": 0,
    "pause": PAUSE,
    "route_header": "",
    "route_hosts": 1,
    "route_sticky": 0,
    "route_switch": 0,
    "route_per_minute": 0,
    "early_loss": (),
}
"""Rules that may be left out of a file."""

_NEEDED: dict[Matching, tuple[str, ...]] = {"breakpoint": ("lookback", "breakpoints")}


def needed(matching: Matching) -> tuple[str, ...]:
    """The rules that a file must state because this matching mode is nothing without them."""
    return _NEEDED.get(matching, ())


def neutral(name: str, words: str, provider: str) -> RuleFigure:
    """The figure of the rule ``name`` where a ``provider`` does not state it: its value in ``words``."""
    return RuleFigure(rule=name, value=words, source=NOT_STATED, confidence="low", provider=provider)
