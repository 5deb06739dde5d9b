"""Token estimates and their scaling to reported totals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.tokens import (
    EXACT_LIMIT,
    SAMPLE_BYTES,
    apportion,
    estimate,
    estimate_quickly,
    family_factor,
    largest_remainder,
    scale,
)

PROSE = (
    "The quick brown fox jumps over the lazy dog. Every sentence of this paragraph is plain English, "
    "so that a tokenizer finds mostly whole words in it, each with the blank before it.\n"
)
CODE = "def total(self, rows: list[int]) -> int:\n    return sum(row.read for row in rows if row['kind'] != \"miss\")\n"


def prompt_of(*tokens: int) -> Prompt:
    return Prompt.of(
        Block(section="messages", kind="text", digest=bytes([index]) * 16, tokens=count)
        for index, count in enumerate(tokens)
    )


def counts(prompt: Prompt) -> list[tuple[int | None, str]]:
    return [(block.tokens, block.origin) for block in prompt]


def test_short_words_are_one_token_each():
    assert estimate("") == estimate_quickly("") == 0
    assert estimate("the cat sat") == 3
    assert estimate("123456") == 2  # digits go by threes


def test_the_estimate_agrees_with_a_published_tokenizer():
    """The same vocabulary, split by another implementation: within 1 %."""
    bpe = pytest.importorskip("bpe_openai")
    text = (PROSE + CODE) * 20
    assert estimate(text) == pytest.approx(len(bpe.get_encoding("o200k_base").encode_ordinary(text)), rel=0.01)


@pytest.mark.parametrize("text", [PROSE * 10, CODE * 10, '{"path":"src/main.py","limit":2000}' * 20])
def test_the_quick_estimate_is_within_a_fifth(text):
    assert estimate_quickly(text) == pytest.approx(estimate(text), rel=0.2)


def test_a_long_text_is_judged_by_its_ends():
    text = PROSE * (SAMPLE_BYTES // len(PROSE) * 10)
    assert len(text) > EXACT_LIMIT
    assert estimate(text) == estimate_quickly(text)
    per_character = estimate_quickly(PROSE) / len(PROSE)
    assert estimate_quickly(text) == pytest.approx(per_character * len(text), rel=0.01)


@pytest.mark.parametrize("text", ["\ud83d", "\0", " ", "\u202e", "é" * 10, "a" * 50_000])
def test_odd_text_has_tokens_and_crashes_nothing(text):
    assert estimate_quickly(text) >= 1
    assert estimate(text.encode("utf-8", "replace").decode()) >= 1


@pytest.mark.parametrize(
    ("model", "percent"),
    [
        (None, 100),
        ("gpt-5.6", 100),
        ("claude-3-5-haiku-20241022", 117),
        ("claude-sonnet-4-20250514", 117),
        ("claude-opus-4-6", 117),
        ("claude-opus-4-7", 152),  # 1.17 x 1.3
        ("claude-opus-4-8", 152),
        ("claude-haiku-5-5", 152),
        ("claude-fable-5", 152),
        ("anthropic/claude-opus-4.7", 152),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 117),
    ],
)
def test_newer_models_count_about_thirty_percent_more(model, percent):
    times, parts = family_factor(model)
    assert times * 100 == percent * parts
    assert scale(1000, model) == 10 * percent
    assert scale(0, model) == 0


def test_counts_are_scaled_to_the_total():
    # 10 + 20 + 30 = 60 estimated, 100 reported: 16.67, 33.33, 50.00; the missing one goes to the largest remainder
    scaled = apportion(prompt_of(10, 20, 30), 100)
    assert counts(scaled) == [(17, "apportioned"), (33, "apportioned"), (50, "apportioned")]


def test_a_block_between_two_totals_is_measured():
    scaled = apportion(prompt_of(10, 10, 7, 10), 70, anchors=[(2, 30), (3, 41)])
    assert counts(scaled) == [(15, "apportioned"), (15, "apportioned"), (11, "measured"), (29, "measured")]


def test_what_was_apportioned_before_is_shared_and_stays():
    first = apportion(prompt_of(10, 20, 30), 100)
    second = apportion(first.extend(prompt_of(9, 8)), 134)
    assert [second[position] is first[position] for position in range(3)] == [True] * 3
    assert [block.tokens for block in second][3:] == [18, 16]  # 134 - 100 = 34, in proportion 9 : 8
    assert apportion(second, 134) is second


def test_a_single_new_block_is_measured_only_where_the_total_before_it_was_reported():
    first = apportion(prompt_of(10, 20), 60)
    cut = first.replace_after(1, prompt_of(5))  # its front of one block was never reported by itself
    assert counts(apportion(cut, 50))[1] == (50 - 20, "apportioned")
    grown = first.extend(prompt_of(5))
    assert counts(apportion(grown, 70, anchors=[(2, 60)]))[2] == (70 - 60, "measured")


def test_a_front_that_contradicts_the_report_is_counted_anew():
    first = apportion(prompt_of(10, 10), 100)
    shrunk = apportion(first.extend(prompt_of(10)), 60)  # 60 < 100
    assert shrunk.tokens == 60
    other = apportion(first.extend(prompt_of(10)), 150, anchors=[(2, 80)])
    assert (other.tokens_until(2), other.tokens) == (80, 150)
    assert apportion(first, 90).tokens == 90


def test_totals_that_do_not_fit_together_are_passed_over_and_the_last_word_holds():
    scaled = apportion(prompt_of(10, 10, 10), 60, anchors=[(0, 5), (1, 20), (2, 15), (2, 61), (9, 70), (3, 50)])
    assert scaled.tokens_until(1) == 20
    assert scaled.tokens == 60


def test_blocks_without_an_estimate_leave_all_to_the_last():
    unknown = Prompt.of([Block(section="system", kind="text", digest=b"a" * 16), *prompt_of(0, 0)])
    assert [block.tokens for block in apportion(unknown, 7)] == [0, 0, 7]


def test_breakpoints_stay_and_an_empty_prompt_stays_empty():
    marked = prompt_of(1, 2).with_breakpoints([Breakpoint(1, 300)])
    assert apportion(marked, 10).breakpoints == (Breakpoint(1, 300),)
    assert apportion(Prompt.of(()), 10).tokens == 0
    with pytest.raises(ValueError, match="-1"):
        apportion(marked, -1)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.integers(0, 10**9))
def test_shares_add_up_and_are_within_one_of_the_exact_ones(weights, total):
    parts = largest_remainder(weights, total)
    whole = sum(weights)
    assert sum(parts) == total
    if whole:
        # |part - weight * total / whole| < 1, in whole numbers
        assert all(abs(part * whole - weight * total) < whole for part, weight in zip(parts, weights, strict=True))


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 25), st.integers(0, 90_000)), max_size=5),
    st.integers(0, 100_000),
)
def test_every_accepted_total_is_met_exactly(tokens, anchors, total):
    prompt = prompt_of(*tokens)
    scaled = apportion(prompt, total, anchors)
    assert scaled.tokens == total
    assert scaled.digest == prompt.digest
    assert all(block.origin != "estimated" for block in scaled)
    rising, last_end, last_sum = [], 0, 0
    for end, known in sorted(anchors):  # the totals that rise with the length and stay below the whole one
        if last_end < end < len(prompt) and last_sum <= known <= total:
            rising.append((end, known))
            last_end, last_sum = end, known
    assert all(scaled.tokens_until(end) == known for end, known in rising)


@given(st.lists(st.tuples(st.lists(st.integers(0, 900), min_size=1, max_size=4), st.integers(0, 5000)), max_size=8))
def test_a_growing_conversation_keeps_all_its_totals(turns):
    anchors: list[tuple[int, int]] = []
    prompt, total = Prompt.of(()), 0
    for tokens, added in turns:
        total += added
        prompt = apportion(prompt.extend(prompt_of(*tokens)), total, anchors)
        anchors.append((len(prompt), total))
    assert all(prompt.tokens_until(length) == known for length, known in anchors)
