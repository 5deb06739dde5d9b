"""Which prices apply: names, dates, sizes and ways of processing, checked against the library they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import pytest

from agentsim.core.money import dollars
from agentsim.core.session import Usage
from agentsim.rules.prices import PriceBook, cost

MILLION = 10**6
BOOK = PriceBook()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


def test_a_time_that_counts_from_its_own_beginning_has_the_newest_prices() -> None:
    # DeepSeek changed its prices, and has some that change within a day: a time without a date is none of these.
    for provider, model in (("deepseek", "deepseek-chat"), ("openai", "gpt-5.6"), ("anthropic", "claude-opus-4-8")):
        newest = BOOK.card(provider, model, None, 1000)
        assert newest is not None
        assert BOOK.card(provider, model, 5 * 10**9, 1000) == newest


MODELS = [
    ("anthropic", "claude-opus-4-5-20251101"),
    ("anthropic", "claude-opus-4-6"),
    ("anthropic", "claude-sonnet-4-5-20250929"),
    ("anthropic", "claude-sonnet-4-6"),
    ("anthropic", "claude-haiku-5-5"),
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-fable-5-2"),
    ("anthropic", "claude-3-5-haiku-20241022"),
    ("openai", "gpt-5.6-sol"),
    ("openai", "gpt-5.4"),
    ("google", "gemini-3.1-pro-preview"),
    ("google", "claude-sonnet-4-5@20250929"),
    ("aws", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("deepseek", "deepseek-v3.1-terminus"),
    ("x-ai", "grok-4.7"),
    ("moonshotai", "kimi-k3"),
    ("openrouter", "anthropic/claude-opus-5"),
]
DATES = ["2025-12-01T18:00:00", "2026-03-12T23:59:59", "2026-03-13T00:00:00", "2026-11-20T02:30:00"]
SIZES = [
    Usage(fresh=17, write_short=12_304, read=64_001, output=550),
    Usage(fresh=1, write_short=100_000, read=99_999, output=1),  # exactly 200,000
    Usage(fresh=2, write_short=100_000, read=99_999, output=1),  # one more
    Usage(fresh=123_457, write_short=0, read=800_009, output=4_321),
]


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_costs_equal_the_librarys_to_the_last_digit(provider, model):
    import genai_prices

    for date, usage in product(DATES, SIZES):
        card = BOOK.card(provider, model, at(date), usage.total_input or 0)
        assert card is not None
        theirs = genai_prices.calc_price(
            genai_prices.Usage(
                input_tokens=usage.total_input,
                cache_read_tokens=usage.read,
                cache_write_tokens=usage.write,
                output_tokens=usage.output,
            ),
            model,
            provider_id=provider,
            genai_request_timestamp=datetime.fromisoformat(date).replace(tzinfo=UTC),
        )
        ours = cost(card, usage)
        assert ours is not None
        assert dollars(ours) == theirs.total_price, (date, usage)


@pytest.mark.parametrize(
    ("way", "context"),
    [
        ({"service_tier": "batch"}, {"processing": "batch"}),
        ({"speed": "fast"}, {"speed": "fast"}),
    ],
)
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-2", "claude-opus-4-8"])
def test_ways_of_processing_equal_the_librarys(model, way, context):
    import genai_prices

    usage = Usage(fresh=17, write_short=1_000, write_long=2_000, read=64_001, output=550)
    card = BOOK.card("anthropic", model, at("2026-11-20T00:00:00"), usage.total_input or 0, **way)
    assert card is not None
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.total_input,
            cache_read_tokens=usage.read,
            cache_write_tokens=usage.write,
            cache_write_1h_tokens=usage.write_long,
            output_tokens=usage.output,
        ),
        model,
        provider_id="anthropic",
        genai_request_timestamp=datetime(2026, 11, 20, tzinfo=UTC),
        price_context=context,
    )
    assert dollars(cost(card, usage) or 0) == theirs.total_price


def test_every_clause_of_the_library_matches_the_same_names_here():
    """Our copy of the library's name tests picks the very model that the library picks, for each id it lists."""
    from genai_prices.data import providers

    for provider in providers:
        for model in provider.models:
            for name in (model.id, model.id.upper(), f"{model.id}-20260101"):
                theirs = provider.find_model(name, all_providers=providers)
                ours = BOOK._directory.find(provider.id, name)
                if theirs is not None:
                    assert ours is not None
                    assert ours[1].id == theirs.id


def test_batch_was_half_price_before_the_library_says_so():
    before = BOOK.card("anthropic", "claude-sonnet-4-5", at("2026-01-05T00:00:00"), 1_000, service_tier="batch")
    standard = BOOK.card("anthropic", "claude-sonnet-4-5", at("2026-01-05T00:00:00"), 1_000)
    assert before is not None
    assert standard is not None
    assert (before.fresh, before.read, before.output) == (
        standard.fresh // 2,
        (standard.read or 0) // 2,
        standard.output // 2,
    )
    assert before.fresh == Decimal("1.5") * MILLION


def test_inference_kept_in_the_us_costs_a_tenth_more_from_opus_4_6_on():
    when = at("2026-07-01T00:00:00")
    new = BOOK.card("anthropic", "claude-opus-4-6", when, 1_000, region="us")
    assert new is not None
    assert (new.fresh, new.read, new.write_long, new.output) == (5_500_000, 550_000, 11_000_000, 27_500_000)
    assert BOOK.card("anthropic", "claude-opus-4-5", when, 1_000, region="us") == BOOK.card(
        "anthropic", "claude-opus-4-5", when, 1_000
    )
    plain = BOOK.card("anthropic", "claude-opus-4-6", when, 1_000)
    for region in ("global", "not_available", "", None):
        assert BOOK.card("anthropic", "claude-opus-4-6", when, 1_000, region=region) == plain


def test_fast_mode_of_opus_4_6_in_both_of_its_tiers():
    early = at("2026-02-20T00:00:00")
    small, large = (BOOK.card("anthropic", "claude-opus-4-6", early, size, speed="fast") for size in (200_000, 200_001))
    assert small is not None
    assert large is not None
    assert (small.fresh, small.output) == (30 * MILLION, 150 * MILLION)
    assert (large.fresh, large.output) == (60 * MILLION, 225 * MILLION)


def test_a_way_of_processing_without_a_known_price_is_not_priced():
    assert BOOK.card("anthropic", "claude-haiku-4-5", at("2026-11-01T00:00:00"), 1_000, speed="fast") is None
    assert BOOK.card("anthropic", "claude-opus-5", at("2026-11-01T00:00:00"), 1_000, service_tier="teleport") is None


def test_reads_of_sonnet_5_5_became_cheaper_nine_days_after_launch():
    before, after = (
        BOOK.card("anthropic", "claude-sonnet-5-5", at(f"{day}T12:00:00"), 1_000)
        for day in ("2026-10-06", "2026-10-07")
    )
    assert before is not None
    assert after is not None
    assert (before.read, after.read) == (200_000, 100_000)
    assert before.fresh == after.fresh == 2 * MILLION


@pytest.mark.parametrize(("model", "read"), [("claude-mythos-5", 1_000_000), ("claude-mythos-5-1-20260901", 250_000)])
def test_models_that_the_library_lacks(model, read):
    card = BOOK.card("anthropic", model, at("2026-11-01T00:00:00"), 1_000)
    assert card is not None
    assert (card.fresh, card.read, card.write_short, card.write_long, card.output) == (
        10 * MILLION,
        read,
        12_500_000,
        20 * MILLION,
        50 * MILLION,
    )


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "claude-fable-5-2"),
        ("anthropic", "claude-fable-5-2[1m]"),
        ("anthropic", "claude-fable-5-2-20261105"),
        ("anthropic", "Claude-Fable-5-2"),
        ("anthropic", "anthropic/claude-fable-5-2"),
        ("anthropic", "global.anthropic.claude-fable-5-2-20261105-v1:0"),
        ("anthropic", "global.anthropic.claude-fable-5-2"),
        ("anthropic", "claude-fable-5-2@20261105"),
        ("anthropic", "claude-fable-5-2-latest"),
        ("openrouter/anthropic", "claude-fable-5-2"),
    ],
)
def test_spellings_of_one_model(provider, name):
    card = BOOK.card(provider, name, at("2026-11-20T00:00:00"), 1_000)
    assert card is not None
    assert (card.fresh, card.read) == (8 * MILLION, 200_000)


@pytest.mark.parametrize("provider", ["engine", "ollama", "vllm", "sglang", "some-gateway", "unknown", ""])
@pytest.mark.parametrize("name", ["claude-fable-5-2", "gpt-5.5", "anthropic/claude-fable-5-2", "deepseek-flash"])
def test_an_engine_or_a_stranger_has_no_price_whatever_its_model_is_called(provider, name):
    assert BOOK.card(provider, name, at("2026-11-20T00:00:00"), 1_000) is None


@pytest.mark.parametrize(
    ("other", "own", "name"),
    [
        ("bedrock", "aws", "us.anthropic.claude-opus-5-v1:0"),
        ("vertex", "google", "claude-opus-5-5"),
        ("gemini", "google", "gemini-2.5-pro"),
        ("kimi", "moonshotai", "kimi-k3"),
        ("xai", "x-ai", "grok-4.7"),
        ("openai-codex", "openai", "gpt-5.5"),
    ],
)
def test_a_provider_has_its_prices_under_its_other_names(other, own, name):
    when = at("2026-11-20T00:00:00")
    assert BOOK.card(other, name, when, 1_000) == BOOK.card(own, name, when, 1_000) is not None


def test_another_makers_model_behind_the_same_protocol_has_its_makers_price():
    when = at("2026-11-20T00:00:00")
    card = BOOK.card("anthropic", "gpt-5.4", when, 1_000)
    assert card is not None
    assert card == BOOK.card("openai", "gpt-5.4", when, 1_000)


@pytest.mark.parametrize(
    "name", ["", "<synthetic>", "claude-opus-4-9", "no-such-model", "x" * 1_000_000, "[1m]", "/", "claude-\x00"]
)
def test_unknown_models_are_not_priced(name):
    assert BOOK.card("anthropic", name, at("2026-11-20T00:00:00"), 1_000) is None


def test_a_price_that_is_not_exact_is_refused():
    # The library lists $0.18000000000000002 for it: the trace of a float, which no integer of picodollars holds.
    assert BOOK.card("huggingface_together", "Qwen/Qwen3-VL-8B-Instruct", None, 1_000) is None


def test_at_an_unknown_time_the_newest_price_applies():
    newest = BOOK.card("anthropic", "claude-opus-4-6", None, 500_000)
    assert newest is not None
    assert newest.fresh == 5 * MILLION  # the long-context tier ended on 2026-03-13
    sonnet = BOOK.card("anthropic", "claude-sonnet-5-5", None, 1_000)
    assert sonnet is not None
    assert sonnet.read == 100_000


def test_prices_by_the_hour_are_not_remembered_for_the_day():
    seen: dict[str, set[int]] = {}
    for model, hour in product(("deepseek-chat", "deepseek-reasoner", "deepseek-v4-pro"), range(24)):
        card = BOOK.card("deepseek", model, at(f"2025-06-02T{hour:02}:10:00"), 1_000)
        if card is not None:
            seen.setdefault(model, set()).add(card.fresh)
    assert max(map(len, seen.values())) == 2  # peak and off-peak


def test_times_outside_the_calendar_do_no_harm():
    for when in (-(10**18), 0, 10**30):
        assert BOOK.card("anthropic", "claude-opus-5", when, 1_000) is not None


def test_a_log_with_endless_model_names_does_not_fill_the_memory(monkeypatch):
    from agentsim.rules.prices import price_book as module

    monkeypatch.setattr(module, "REMEMBERED", 10)
    book = PriceBook()
    for number in range(1_000):
        assert book.card("anthropic", f"model-{number}", 0, 1) is None
    assert len(book._known) <= 10
    assert len(book._models) <= 10
