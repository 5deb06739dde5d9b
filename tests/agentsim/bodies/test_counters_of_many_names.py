"""Counters under the names that servers and gateways give them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies.openai_usage import OpenAIUsage, logged_picodollars, openai_usage, usage_in
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow

READ, WRITE = ("cached_tokens", "cache_read_input_tokens"), ("cache_write_tokens", "cache_creation_tokens")
GATEWAY = {"cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
EXPECTED = Usage(fresh=10, read=60, write_other=30, output=2)


def counted(**sent: object) -> Usage:
    return openai_usage(msgspec.convert({"prompt_tokens": 100, "completion_tokens": 2, **sent}, OpenAIUsage))


@pytest.mark.parametrize(
    "sent",
    [
        {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}},
        {"prompt_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 30}},
        {
            "prompt_tokens_details": {"cached_tokens": 0},
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
        },
        {
            "prompt_tokens_details": {"cached_tokens": 60},
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
        },
    ],
)
def test_written_and_read_tokens_have_many_names(sent: dict[str, object]) -> None:
    assert counted(**sent) == EXPECTED


def test_deepseek_counts_hits_and_misses_alone() -> None:
    assert counted(prompt_cache_hit_tokens=90, prompt_cache_miss_tokens=10) == Usage(fresh=10, read=90, output=2)
    alone = msgspec.convert({"prompt_cache_hit_tokens": 90, "prompt_cache_miss_tokens": 10}, OpenAIUsage)
    assert openai_usage(alone) == Usage(fresh=10, read=90)


@pytest.mark.parametrize(
    "sent",
    [
        {"prompt_tokens_details": {"cached_tokens": 60}, "cache_read_input_tokens": 61},
        {"prompt_cache_hit_tokens": 90, "prompt_cache_miss_tokens": 11},
        {"prompt_tokens_details": {"cached_tokens": 101}},
    ],
)
def test_counters_that_contradict_each_other_cost_the_row(sent: dict[str, object]) -> None:
    with pytest.raises(BadRow, match="bad counter"):
        counted(**sent)


def test_a_total_proves_that_input_leaves_out_what_was_cached() -> None:
    sent = {"cache_read_input_tokens": 600, "cache_creation_input_tokens": 300, "total_tokens": 1002}
    assert counted(**sent) == Usage(fresh=100, read=600, write_other=300, output=2)


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from(READ), st.sampled_from(WRITE))
def test_the_parts_add_up_whatever_they_are_called(read: int, write: int, reads: str, writes: str) -> None:
    usage = usage_in(({"prompt_tokens": 200}, {"prompt_tokens_details": {reads: read, writes: write}}))
    assert (usage.total_input, usage.read, usage.write) == (200, read, write)


def test_what_a_log_says_it_cost_is_exact() -> None:
    assert logged_picodollars(0.004596) == 4_596_000_000
    assert [logged_picodollars(odd) for odd in (0, None, True, "x", -1, float("inf"))] == [None] * 6
