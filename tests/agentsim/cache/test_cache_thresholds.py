"""What is kept from how many tokens on, until when, and from when it can be read: at the value and beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentsim.cache import CacheBackend
from agentsim.cache.longest_prefix_cache import LongestPrefixProvider
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.slot_cache import SlotCache
from agentsim.cache.unit_cache import UnitProvider
from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import DAY, block, prompt, request

NOW = DAY * SECOND
ANTHROPIC = rules_for("anthropic", "claude-opus-4-8", NOW).with_(minimum=1_024)
UNITS = rules_for("deepseek", "deepseek-flash", NOW).with_(minimum=1_024, quantum=1)
LONGEST = rules_for("openai", "gpt-5.1", NOW).with_(minimum=1_024, quantum=1)
SLOTS = rules_for("llama.cpp", "qwen3-coder", NOW).with_(minimum=1_024)


def ask(name: str, tokens: int, *more: str) -> Request:
    """A request at the time of its name, in seconds, of a front of so many tokens and other blocks."""
    front = [block("front", tokens), *(block(one, 100) for one in more)]
    return request(name, int(name), prompt(front, 0), lasts=1)


def read(backend: CacheBackend, *asked: Request) -> list[int | None]:
    return [backend.serve(one, one.start or 0).usage.read for one in asked]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ModeledProvider(ANTHROPIC),
        lambda: UnitProvider(UNITS),
        lambda: LongestPrefixProvider(LONGEST),
        lambda: SlotCache(SLOTS),
    ],
    ids=["breakpoints", "units", "longest prefix", "slots"],
)
@pytest.mark.parametrize(("tokens", "found"), [(1_023, 0), (1_024, 1_024), (1_025, 1_025)])
def test_the_minimum_itself_is_kept(make: Callable[[], CacheBackend], tokens: int, found: int) -> None:
    assert read(make(), ask("0", tokens), ask("20", tokens, "next")) == [0, found]


@pytest.mark.parametrize(("gap", "found"), [(300, 2_000), (301, 0)])
def test_an_entry_is_alive_in_the_last_second_of_its_lifetime(gap: int, found: int) -> None:
    backend = ModeledProvider(ANTHROPIC.with_(ttl_short=300))
    assert read(backend, ask("0", 2_000), ask(str(gap), 2_000, "next")) == [0, found]


@pytest.mark.parametrize(("milliseconds", "found"), [(999, 0), (1_000, 2_000)])
def test_a_request_that_is_served_late_brings_its_times_along(milliseconds: int, found: int) -> None:
    """Asked for at 0 s with an answer from 1 s on, and served at 100 s."""
    backend = ModeledProvider(ANTHROPIC)
    late = NOW + 100 * SECOND
    assert backend.serve(ask("0", 2_000), late).usage.read == 0
    moment = late + milliseconds * SECOND // 1_000
    assert backend.serve(ask("100", 2_000, "next"), moment).usage.read == found
