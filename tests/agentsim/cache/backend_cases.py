"""Every backend there is, each as it is made for a test: whoever writes another one adds it here."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from agentsim.cache import CacheBackend
from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.live_endpoint import LiveBackend
from agentsim.cache.longest_prefix_cache import LongestPrefixProvider
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.provider_chance import SpillingProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.slot_cache import SlotCache
from agentsim.cache.unit_cache import UnitProvider
from agentsim.rules.providers import rules_for


class BackendCase(NamedTuple):
    """How a backend is made, and whom its requests name. ``knows`` is False where only the answer tells what is read,
    and ``evicts`` where its cache is not ours."""

    make: Callable[[], CacheBackend]
    provider: str
    model: str
    knows: bool = True
    evicts: bool = True


def _spilling() -> SpillingProvider:
    rules = rules_for("anthropic", "claude-opus-4-8", None)
    rules = rules.with_(minimum=0, route_hosts=3, route_switch=30, route_per_minute=4, early_loss=((1, 40),))
    return SpillingProvider(lambda: ModeledProvider(rules), 7, rules)


def _engine() -> CacheBackend:
    from agentsim.engine.engine_backend import EngineBackend
    from agentsim.engine.inference_engine import Engine
    from agentsim.engine.trace_tokens import DrawnTokens
    from tests.engine.stub import StubModel

    ticks = itertools.count(0, 1000)
    engine = Engine(StubModel(), pages=400, page_size=4, keep_generated=False, clock=lambda: next(ticks), paranoid=True)
    return EngineBackend(engine, DrawnTokens(101), new_tokens=2)


class _Account:
    """An account at a server that keeps the longest prompt it was sent and reads its beginning."""

    api = "openai"
    is_official = False

    def openai(self) -> Any:
        """A client of it."""
        seen: list[str] = []

        def create(*, messages: list[Any], **_: Any) -> Any:
            words = [json.dumps(message) for message in messages]
            known = max((_common(words, json.loads(one)) for one in seen), default=0)
            seen.append(json.dumps(words))
            usage = {
                "prompt_tokens": 10 * len(words),
                "completion_tokens": 1,
                "total_tokens": 10 * len(words) + 1,
                "prompt_tokens_details": {"cached_tokens": 10 * known},
            }
            body = json.dumps({"usage": usage}).encode()
            return SimpleNamespace(http_response=SimpleNamespace(read=lambda: body))

        raw = SimpleNamespace(with_raw_response=SimpleNamespace(create=create))
        return SimpleNamespace(chat=SimpleNamespace(completions=raw), close=lambda: None)


def _common(words: list[str], other: list[str]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(words, other, strict=False)) if a != b), min(len(words), len(other))
    )


def _live() -> LiveBackend:
    ticks = itertools.count(0, 1000)
    account: Any = _Account()
    return LiveBackend(account, clock=lambda: next(ticks), wait=lambda _: None)


def _rules(provider: str, **values: Any) -> Any:
    return rules_for(provider, "m", None).with_(**values)


CASES: dict[str, BackendCase] = {
    "ModeledProvider": BackendCase(
        lambda: ModeledProvider(rules_for("anthropic", "claude-opus-4-8", None).with_(minimum=0)),
        "anthropic",
        "claude-opus-4-8",
    ),
    "ModeledProvider, unasked": BackendCase(
        lambda: ModeledProvider(rules_for("openai", "gpt-5.6", None).with_(minimum=0)), "openai", "gpt-5.6"
    ),
    "ModeledProvider, forgets": BackendCase(
        lambda: ModeledProvider(rules_for("anthropic", "claude-opus-4-8", None).with_(minimum=0), forgets=True),
        "anthropic",
        "claude-opus-4-8",
    ),
    "LongestPrefixProvider": BackendCase(
        lambda: LongestPrefixProvider(rules_for("openai", "gpt-4o", None).with_(minimum=0, quantum=4)),
        "openai",
        "gpt-4o",
    ),
    "UnitProvider": BackendCase(
        lambda: UnitProvider(_rules("deepseek", quantum=4, minimum=0)), "deepseek", "deepseek-chat"
    ),
    "EngineCache": BackendCase(lambda: EngineCache(_rules("vllm"), 300), "vllm", "m"),
    "SlotCache": BackendCase(
        lambda: SlotCache(_rules("llamacpp", slots=2, quantum=1, capacity=120, ttl_short=300)), "llamacpp", "m"
    ),
    "SlotCache, checkpoints": BackendCase(
        lambda: SlotCache(_rules("llamacpp", slots=2, quantum=1, checkpoint_step=16)), "llamacpp", "m"
    ),
    "RoutedProvider": BackendCase(RoutedProvider, "anthropic", "claude-opus-4-8"),
    "RoutedProvider, engine": BackendCase(RoutedProvider, "sglang", "m"),
    "SpillingProvider": BackendCase(_spilling, "anthropic", "claude-opus-4-8"),
    "SpillingProvider, routed": BackendCase(lambda: SpillingProvider(RoutedProvider, 5), "gemini", "gemini-2.5-flash"),
    "LiveBackend": BackendCase(_live, "openai", "gpt-4o", knows=False, evicts=False),
    "EngineBackend": BackendCase(_engine, "vllm", "m"),
}
"""Cases by the name of the class, and what sets it apart from another case of it."""
