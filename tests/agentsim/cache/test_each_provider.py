"""What is peculiar to each provider, through the one mechanism. A block has 1,000 tokens unless told."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import replay
from agentsim.core.money import dollars
from agentsim.core.prompt import Block
from agentsim.core.session import Request, Row
from agentsim.rules.providers import ProviderRules, rules_for
from tests.agentsim.prompts import DAY, block, prompt, request, session, texts

HOUR = 3600
MILLION = 10**6


def ask(
    name: str,
    at: int,
    provider: str,
    model: str,
    blocks: list[Block],
    *markers: int | tuple[int, int],
    lasts: int = 5,
    **settings: str,
) -> Request:
    one = request(name, at, prompt(blocks, *markers), model=model, lasts=lasts, settings=settings)
    return msgspec.structs.replace(one, provider=provider)


def rows(*requests: Request) -> tuple[Row, ...]:
    return replay(session(requests), RoutedProvider()).rows


def reads(*requests: Request) -> list[int | None]:
    return [row.usage.read for row in rows(*requests)]


def at(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, 12, tzinfo=UTC).timestamp()) * 10**9


def long(count: int, prefix: str = "b") -> list[Block]:
    return texts(count, 1_000, prefix)


# --- Claude on clouds -------------------------------------------------------------------------------------------------

CLAUDE = "claude-opus-4-5"


@pytest.mark.parametrize("cloud", ["bedrock", "aws", "vertex", "google", "foundry", "azure", "openrouter"])
def test_claude_has_its_makers_rules_on_every_cloud(cloud):
    maker, here = rules_for("anthropic", CLAUDE, None), rules_for(cloud, CLAUDE, None)
    assert here.provider != "anthropic"
    for name in ("matching", "order", "lookback", "breakpoints", "minimum", "ttl_short", "ttl_long", "settings"):
        assert getattr(here, name) == getattr(maker, name)
    figure = here.figure("lookback")
    assert figure is not None
    assert figure.file == "anthropic.toml"


def test_a_cloud_states_differences_only():
    bedrock = rules_for("bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", None)
    assert (bedrock.scope, bedrock.refresh, bedrock.minimum) == ("organization", "hit", 4_096)
    assert rules_for("foundry", CLAUDE, None).scope == rules_for("anthropic", CLAUDE, None).scope == "workspace"
    # An hour came with the 4.5 generation there.
    assert rules_for("bedrock", "anthropic.claude-3-7-sonnet-20250219-v1:0", None).ttl_long == 300
    assert bedrock.ttl_long == HOUR


def test_other_makers_models_follow_their_maker_on_a_cloud_or_a_gateway():
    for name, model, maker in (
        ("openrouter", "deepseek/deepseek-flash", "deepseek"),
        ("openrouter", "x-ai/grok-4.7", "xai"),
        ("openrouter", "qwen/qwen3.8-max", "qwen"),
        ("openrouter", "moonshotai/kimi-k3", "kimi"),
        ("openrouter", "openai/gpt-5.5", "openai"),
        ("vertex", "gemini-2.5-pro", "gemini"),
        ("azure", "gpt-5.5", "openai"),
    ):
        bare = model.split("/")[-1]
        here, theirs = rules_for(name, model, None), rules_for(maker, bare, None)
        assert (here.matching, here.minimum, here.quantum) == (theirs.matching, theirs.minimum, theirs.quantum)
    assert rules_for("openrouter", "somebody/new-model", None).matching == "longest_prefix"


# --- Gemini ----------------------------------------------------------------------------------------------------------

GEMINI = "gemini-2.5-pro"


def test_gemini_finds_prefixes_by_itself_and_asks_nothing_for_writing():
    found = rows(ask("1", 0, "gemini", GEMINI, long(5)), ask("2", 60, "gemini", GEMINI, long(6)))
    assert [row.usage.read for row in found] == [0, 5_000]
    assert [row.usage.fresh for row in found] == [5_000, 1_000]
    assert [row.usage.write for row in found] == [None, None]
    # $1.25 for a million tokens of input, a tenth of that for reads.
    assert dollars(found[1].cost or 0) * MILLION == 5_000 * 125 / 1000 + 1_000 * 1250 / 1000


def test_a_gemini_object_is_billed_for_its_tokens_and_hours():
    # 10,000 tokens for two hours at $4.50 for a million tokens an hour: $0.09. Making it is ordinary input: $0.0125.
    [made, used] = rows(
        ask("1", 0, "gemini", GEMINI, long(11), (9, 2 * HOUR)), ask("2", 60, "gemini", GEMINI, long(10), (9, 2 * HOUR))
    )
    assert made.stored == 10_000 * 2 * HOUR
    assert dollars(made.storage_cost or 0) == 10_000 * 2 * dollars(4_500_000)
    assert str(dollars(made.storage_cost or 0).normalize()) == "0.09"
    assert (made.usage.fresh, made.usage.write, made.usage.read) == (11_000, 0, 0)
    assert made.cost == 11_000 * 1_250_000 + 90 * 10**9
    assert (used.stored, used.storage_cost, used.usage.read) == (0, 0, 10_000)
    assert used.cost == 10_000 * 125_000


def test_only_the_object_that_is_named_is_read_and_use_does_not_prolong_it():
    first = ask("1", 0, "gemini", GEMINI, long(6), (4, HOUR))
    longer = ask("2", 60, "gemini", GEMINI, long(7), (6, HOUR))  # names another object: it is made from nothing
    assert reads(first, longer) == [0, 0]
    middle, late = (ask(str(n), n, "gemini", GEMINI, long(6), (4, HOUR)) for n in (3_000, 3_700))
    assert reads(first, middle, late) == [0, 5_000, 0]


def test_what_is_stored_at_a_price_that_nobody_knows_leaves_the_cost_unknown():
    [row] = rows(ask("1", 0, "gemini", "gemini-4-argon", long(6), (4, HOUR)))
    assert row.stored > 0
    assert (row.storage_cost, row.cost) == (None, None)


# --- DeepSeek --------------------------------------------------------------------------------------------------------


def test_deepseek_reads_what_three_requests_share_from_the_third_on():
    parts = {name: block(name, 640) for name in "ABCD"}
    requests = [ask(f"A{x}", n * 60, "deepseek", "deepseek-flash", [parts["A"], parts[x]]) for n, x in enumerate("BCD")]
    assert reads(*requests) == [0, 0, 640]


# --- xAI, Kimi, GLM, Mistral ------------------------------------------------------------------------------------------


def test_grok_counts_in_steps_of_128_and_a_key_is_a_server():
    first, same, other = (
        ask(str(n), n * 10, "xai", "grok-4.7", long(n + 2), prompt_cache_key=key)
        for n, key in enumerate(("one", "one", "two"))
    )
    assert reads(first, same) == [0, 1_920]  # 2,000 tokens are 15 steps and a rest of 80
    assert reads(first, other) == [0, 0]


def test_kimi_keeps_five_minutes_for_nothing_and_an_hour_at_twice_the_price():
    def talk(*markers: tuple[int, int]) -> tuple[Row, ...]:
        return rows(
            ask("1", 0, "kimi", "kimi-k3", long(4), *markers), ask("2", 1_000, "kimi", "kimi-k3", long(5), *markers)
        )

    short, chosen = talk(), talk((3, HOUR))
    assert [row.usage.read for row in short] == [0, 0]
    assert [row.usage.read for row in chosen] == [0, 4_000]
    assert (short[0].usage.fresh, short[0].usage.write) == (4_000, None)
    assert (chosen[0].usage.fresh, chosen[0].usage.write_long) == (0, 4_000)
    # $3 for a million tokens of input.
    assert dollars(short[0].cost or 0) * MILLION == 4_000 * 3
    assert dollars(chosen[0].cost or 0) * MILLION == 4_000 * 6
    # A hit renews it: 250 s after the second of two requests that are 250 s apart, all is there.
    assert reads(*(ask(str(n), n * 250, "kimi", "kimi-k3", long(4 + n)) for n in range(3))) == [0, 4_000, 5_000]


def test_mistral_caches_only_for_those_who_opt_in():
    plain = [ask(str(n), n * 10, "mistral", "mistral-large-4", long(2 + n)) for n in range(2)]
    keyed = [msgspec.structs.replace(one, settings=(("prompt_cache_key", "mine"),)) for one in plain]
    assert reads(*plain) == [0, 0]
    assert reads(*keyed) == [0, 2_000]


def test_glm_asks_nothing_for_writing():
    [first, second] = rows(ask("1", 0, "glm", "glm-5.3", long(2)), ask("2", 10, "glm", "glm-5.3", long(3)))
    assert dollars(first.cost or 0) * MILLION == 2_000 * dollars(1_400_000) * MILLION
    assert second.cost == 2_000 * 260_000 + 1_000 * 1_400_000


# --- Qwen and MiniMax: automatic, or at markers -----------------------------------------------------------------------

QWEN = "qwen3.8-max"


def test_qwens_shortest_prefix_grew_in_october():
    assert rules_for("qwen", QWEN, at(2026, 3, 31)).minimum == 256
    assert rules_for("qwen", QWEN, at(2026, 10, 10)).minimum == 256
    assert rules_for("qwen", QWEN, at(2026, 10, 11)).minimum == 1_024
    assert rules_for("dashscope", QWEN, None).minimum == 1_024
    short = rules_for("qwen", QWEN, at(2026, 3, 31), marked=True)
    assert short.minimum == 1_024  # at markers it always was


def test_qwen_makes_an_entry_after_the_response_and_keeps_it_five_minutes_from_each_hit():
    def pair(second: int, lasts: int) -> list[int | None]:
        return reads(
            ask("1", 0, "qwen", QWEN, long(3), 2, lasts=lasts), ask("2", second, "qwen", QWEN, long(4), 3, lasts=1)
        )

    assert pair(20, lasts=30) == [0, 0]
    assert pair(31, lasts=30) == [0, 3_000]
    assert pair(301, lasts=30) == [0, 0]
    assert reads(*(ask(str(n), n * 299, "qwen", QWEN, long(3), 2) for n in range(3))) == [0, 3_000, 3_000]


def test_qwen_with_markers_does_not_look_at_what_was_kept_without():
    plain, marked = ask("1", 0, "qwen", QWEN, long(3)), ask("2", 60, "qwen", QWEN, long(3), 2)
    again = ask("3", 120, "qwen", QWEN, long(4))
    assert reads(plain, marked) == [0, 0]
    assert reads(plain, marked, again) == [0, 0, 3_000]
    assert rows(marked)[0].usage.write_short == 3_000
    assert rows(plain)[0].usage.write is None


def test_minimax_writes_at_markers_on_older_models_and_m3_passes_over_them():
    [old] = rows(ask("1", 0, "minimax", "minimax-m2.7", long(3), 2))
    [new] = rows(ask("1", 0, "minimax", "minimax-m3", long(3), 2))
    assert (old.usage.write_short, old.usage.fresh) == (3_000, 0)
    assert (new.usage.write_short or 0, new.usage.fresh) == (0, 3_000)
    assert reads(*(ask(str(n), n * 10, "minimax", "minimax-m3", long(3 + n), 2 + n) for n in range(2))) == [0, 3_000]


def test_a_write_that_costs_nothing_never_costs_more_than_input_alone():
    [row] = rows(ask("1", 0, "minimax", "minimax-m3", long(3), 2))
    assert dollars(row.cost or 0) * MILLION == 3_000 * dollars(300_000) * MILLION


# --- engines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "quantum"), [("vllm", 16), ("sglang", 1), ("trtllm", 32), ("tensorrt-llm", 32)])
def test_engines_read_whole_blocks_and_never_the_last_token(engine, quantum):
    whole = [ask(str(n), n * 10, engine, "some-model", texts(3, 100)) for n in range(2)]
    assert reads(*whole) == [0, 299 - 299 % quantum]
    assert [row.cost for row in rows(*whole)] == [None, None]  # time, not money


def test_an_engine_forgets_for_want_of_room_only():
    assert reads(*(ask(str(n), n * 86_400 * 30, "vllm", "m", texts(4, 160)) for n in range(2))) == [0, 624]
    from agentsim.cache.routed_backend import backend_for

    small = backend_for(rules_for("vllm", "m", None).with_(capacity=640))
    asked = [ask(str(n), n, "vllm", "m", texts(4, 160, name)) for n, name in enumerate("aba")]
    assert [small.serve(one, DAY * 10**9 + n).usage.read for n, one in enumerate(asked)] == [0, 0, 0]


# --- the mechanism ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fee", ["by_lifetime", "none"])
def test_a_bill_adds_up_whatever_writing_costs(fee):
    rules: ProviderRules = rules_for("anthropic", "claude-opus-4-8", None).with_(write_fee=fee)
    provider = ModeledProvider(rules)
    for n in range(2, 7):
        one = request(str(n), n * 10, prompt(long(n + 1), (1, HOUR), n - 1))
        usage = provider.serve(one, one.start or 0).usage
        assert usage.total_input == (n + 1) * 1_000
        assert (usage.write == 0) == (fee == "none")
