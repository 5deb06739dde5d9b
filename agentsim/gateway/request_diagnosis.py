"""The provider's own diagnosis: what differs between a request and an earlier one that the client names."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from agentsim.core.session import ProviderDiagnosis
from agentsim.diagnose.prompt_diff import first_difference
from agentsim.gateway.scripted_reply import ChatRequest

KEPT = 4096
"""Answers whose requests are remembered."""

_OPENAI_SETTINGS = (
    ("prompt_cache_key", "prompt_cache_key_changed"),
    ("effort", "reasoning_effort_changed"),
    ("verbosity", "verbosity_changed"),
    ("service_tier", "service_tier_changed"),
)
"""Settings that one provider names in its diagnosis."""


class RequestDiagnosis(NamedTuple):
    """What the provider says, and how many tokens of the earlier prompt it could have reused (``None``: unknown)."""

    diagnosis: ProviderDiagnosis
    reusable: int | None = None


class Comparisons:
    """The requests behind the last answers. Mutable."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, ChatRequest] = OrderedDict()

    def remember(self, id: str, asked: ChatRequest) -> None:
        """An answer was given to this request."""
        self._asked[id] = asked
        if len(self._asked) > KEPT:
            self._asked.popitem(last=False)

    def compare(self, asked: ChatRequest, *, compacted: bool = False) -> RequestDiagnosis:
        """What is said to a request that asked for a diagnosis; nothing was reported to one that did not.

        ``compacted``: its history was just replaced by a summary."""
        if not asked.compare:
            return RequestDiagnosis(ProviderDiagnosis())
        if asked.compare_with is None:
            return RequestDiagnosis(ProviderDiagnosis(reported=True))
        old = self._asked.get(asked.compare_with)
        if old is None:
            return RequestDiagnosis(ProviderDiagnosis(reported=True, reason="previous_message_not_found"))
        shared = old.prompt.common_length(asked.prompt)
        reusable = old.prompt.tokens_until(shared)
        missed = old.prompt.tokens - reusable
        if old.model != asked.model or _setting(old, "speed") != _setting(asked, "speed"):
            return RequestDiagnosis(_said("model_changed", old.prompt.tokens), 0)
        for name, reason in _OPENAI_SETTINGS if asked.provider == "openai" else ():
            if _setting(old, name) != _setting(asked, name):
                return RequestDiagnosis(_said(reason, missed), reusable)
        if asked.provider == "openai" and shared < min(len(old.prompt), len(asked.prompt)):
            kinds = {old.prompt[shared].kind, asked.prompt[shared].kind}
            if "options" in kinds and "tool" not in kinds:
                return RequestDiagnosis(_said("text_format_changed", missed), reusable)
        place = first_difference(old.prompt, asked.prompt)
        if place is not None and place.section is not None:
            if compacted and asked.provider == "openai" and place.section == "messages":
                return RequestDiagnosis(_said("context_compacted", missed), reusable)
            return RequestDiagnosis(_said(f"{place.section}_changed", missed), reusable)
        if old.settings != asked.settings:
            return RequestDiagnosis(ProviderDiagnosis(reported=True, reason="unavailable"), reusable)
        return RequestDiagnosis(ProviderDiagnosis(reported=True), reusable)


def _said(reason: str, missed: int) -> ProviderDiagnosis:
    return ProviderDiagnosis(reported=True, reason=reason, missed_tokens=missed)


def _setting(asked: ChatRequest, name: str) -> str | None:
    return next((value for known, value in asked.settings if known == name), None)
