"""How long entries live at each provider, to the second. A block has 1,000 tokens unless told."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import replay
from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.diagnose import diagnose
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import read
from tests.agentsim.prompts import DAY, prompt, request, session, texts

HOUR = 3600


def ask(at: int, provider: str, model: str, blocks: int, *markers: int | tuple[int, int], name: str = "b") -> Request:
    body = prompt(texts(blocks, 1_000, name), *markers)
    one = request(f"{name}{at}", at, body, model=model, lasts=5)
    return msgspec.structs.replace(one, provider=provider)


def reads(*requests: Request) -> list[int | None]:
    return [row.usage.read for row in replay(session(requests), RoutedProvider()).rows]


@pytest.mark.parametrize(("idle", "read"), [(299, 4_000), (300, 4_000), (301, 0)])
@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-opus-4-8"),
        ("bedrock", "anthropic.claude-opus-4-8"),
        ("vertex", "claude-opus-4-8"),
        ("foundry", "claude-opus-4-8"),
        ("openrouter", "anthropic/claude-opus-4.8"),
        ("qwen", "qwen3.8-max"),
        ("minimax", "MiniMax-M3"),
    ],
)
def test_five_minutes_from_the_start_of_the_request(provider, model, idle, read):
    assert reads(ask(0, provider, model, 4, 3), ask(idle, provider, model, 5, 3)) == [0, read]


@pytest.mark.parametrize(("idle", "read"), [(3_599, 4_000), (3_600, 4_000), (3_601, 0)])
def test_an_hour_for_those_who_ask(idle, read):
    model = "claude-opus-4-8"
    assert reads(ask(0, "anthropic", model, 4, (3, HOUR)), ask(idle, "anthropic", model, 4, (3, HOUR))) == [0, read]


@pytest.mark.parametrize(("ttl", "idle", "read"), [(1_800, 1_800, 4_000), (1_800, 1_801, 0), (43_200, 43_200, 4_000)])
def test_thirty_minutes_or_twelve_hours_from_gpt_5_6_on(ttl, idle, read):
    first, again = (ask(at, "openai", "gpt-5.6-sol", 4, (3, ttl)) for at in (0, idle))
    assert reads(first, again) == [0, read]


@pytest.mark.parametrize(
    ("provider", "model"),
    [("bedrock", "anthropic.claude-sonnet-4-20250514-v1:0"), ("qwen", "qwen3.8-max"), ("minimax", "MiniMax-M2.7")],
)
def test_an_hour_that_is_not_on_offer_is_five_minutes_at_their_price(provider, model):
    first = ask(0, provider, model, 4, (3, HOUR))
    [written, kept] = replay(session([first, ask(299, provider, model, 4, (3, HOUR))]), RoutedProvider()).rows
    assert (written.usage.write_short, written.usage.write_long, kept.usage.read) == (4_000, 0, 4_000)
    assert reads(first, ask(301, provider, model, 4, (3, HOUR))) == [0, 0]


def test_bedrock_offers_the_hour_from_the_generation_4_5_on():
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert reads(ask(0, "bedrock", model, 4, (3, HOUR)), ask(3_600, "bedrock", model, 4, (3, HOUR))) == [0, 4_000]


def test_what_gemini_found_by_itself_ends_a_day_after_it_was_made_however_often_it_is_read():
    day = 24 * HOUR
    requests = [ask(at, "gemini", "gemini-2.5-pro", 5) for at in (0, 12 * HOUR, day, day + 1)]
    assert reads(*requests) == [0, 5_000, 5_000, 0]


def test_models_behind_one_gateway_keep_their_own_ways_of_refreshing():
    # Claude's blocks 1-2 are refreshed by a read of 1-4 at 200 s; Qwen's are not: 400 s is more than five minutes.
    def asks(model: str, name: str) -> list[Request]:
        def one(at: int, blocks: int, *markers: int) -> Request:
            return ask(at, "openrouter", model, blocks, *markers, name=name)

        return [one(0, 4, 1, 3), one(200, 4, 3), one(400, 2, 1)]

    claude, qwen = asks("anthropic/claude-opus-4.8", "c"), asks("qwen/qwen3.8-max", "q")
    assert reads(*claude) == [0, 4_000, 2_000]
    assert reads(*qwen) == [0, 4_000, 0]
    for first, second in ((claude, qwen), (qwen, claude)):
        both = [one for pair in zip(first, second, strict=True) for one in pair]
        found = {row.request.id: row.usage.read for row in replay(session(both), RoutedProvider()).rows}
        assert (found["c400"], found["q400"]) == (2_000, 0)


def test_deepseeks_own_counters_are_multiples_of_its_unit(shared_data):
    counters = {
        request.usage.read
        for one in read([str(shared_data / "deepseek-harness")])
        for request in one.requests
        if request.usage is not None and request.usage.read
    }
    unit = rules_for("deepseek", "deepseek-flash", DAY * SECOND).quantum
    assert len(counters) == 15
    assert {count % unit for count in counters} == {0}
    assert any(count % (2 * unit) for count in counters)  # 6,272 is 49 units: no larger power of two would do


@pytest.mark.parametrize(
    ("provider", "model", "longer"),
    [("anthropic", "claude-opus-4-8", True), ("qwen", "qwen3.8-max", False), ("minimax", "MiniMax-M2.7", False)],
)
def test_nobody_is_advised_to_use_a_lifetime_that_is_not_on_offer(provider, model, longer):
    asked = [ask(0, provider, model, 4, 3), ask(301, provider, model, 4, 3)]
    served = replay(session(asked), RoutedProvider()).rows
    told = [msgspec.structs.replace(one, usage=row.usage) for one, row in zip(asked, served, strict=True)]
    verdict = diagnose(session(told)).verdicts[1]
    assert verdict.cause == "AS201"
    assert (verdict.fix is None) == longer  # without words of its own, the general advice of the cause holds
    if verdict.fix is not None:
        assert "no longer lifetime" in verdict.fix
