"""What the provider refuses about prompt caching, by the contract of the model that is asked for.

The newer contract (breakpoints) takes ``prompt_cache_options`` and ``prompt_cache_breakpoint``; models before it refuse
both. ``prompt_cache_retention`` belongs to the older one; from gpt-5.5 on its only value is ``24h``.
"""

from __future__ import annotations

from typing import Literal

from agentsim.bodies.openai_reader import Chat, Responses
from agentsim.gateway.refusal import Refusal
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.provider_rules import ProviderRules

LONGEST_KEY = 64
"""Characters of a cache key."""

MODES = ("implicit", "explicit")
Api = Literal["chat", "responses", "compact"]

LIFETIMES = {"chat": ("30m",), "responses": ("30m", "12h"), "compact": ("30m",)}
"""By API: the longer one is known to responses only."""

RETENTIONS = ("in_memory", "24h")


def check(sent: Chat | Responses, api: Api, *, marked: bool) -> ProviderRules:
    """The rules of the model, if it takes what the body says of caching. Raises Refusal (400).

    ``marked``: the body carries explicit breakpoints.
    """
    rules = rules_for("openai", sent.model, None)
    has_breakpoints = rules.matching == "breakpoint"
    _check_key(sent.prompt_cache_key)
    _check_retention(sent.prompt_cache_retention, rules)
    if sent.prompt_cache_options is not None and not has_breakpoints:
        raise _unsupported("prompt_cache_options")
    if marked and not has_breakpoints:
        raise _unsupported("prompt_cache_breakpoint")
    options = sent.prompt_cache_options
    if options is not None:
        _check_value(options.mode, MODES, "prompt_cache_options.mode")
        _check_value(options.ttl, LIFETIMES[api], "prompt_cache_options.ttl")
        if api != "responses" and (options.comparison_response_id is not None or options.prewarm):
            name = "prewarm" if options.prewarm else "comparison_response_id"
            raise Refusal(400, "is known to the responses API only", path=f"prompt_cache_options.{name}")
    return rules


def _check_key(key: str | None) -> None:
    if key is not None and len(key) > LONGEST_KEY:
        raise Refusal(
            400,
            f"string too long: at most {LONGEST_KEY} characters are accepted, {len(key)} were sent",
            path="prompt_cache_key",
            code="string_above_max_length",
        )


def _check_retention(retention: str | None, rules: ProviderRules) -> None:
    _check_value(retention, RETENTIONS, "prompt_cache_retention")
    # Where the rules know only the longer retention, or breakpoints with lifetimes of their own, the shorter is gone.
    if retention == "in_memory" and (rules.ttl_short >= rules.ttl_long or rules.matching == "breakpoint"):
        raise Refusal(400, "only '24h' is supported on this model", path="prompt_cache_retention", code="invalid_value")


def _check_value(value: str | None, known: tuple[str, ...], path: str) -> None:
    if value is not None and value not in known:
        listed = " and ".join(f"'{one}'" for one in known)
        raise Refusal(400, f"supported values are: {listed}", path=path, code="invalid_value")


def _unsupported(name: str) -> Refusal:
    return Refusal(400, "is not supported on this model", path=name, code="invalid_parameter")
