"""Requests that the provider served by several calls of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentsim.core.session import Request, Usage
from agentsim.rules.prices import PriceBook, billable_usage, billed_parts

WHEN = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp()) * 10**9
MILLION = 10**6


def request(usage: Usage | None, *iterations: Usage, model: str = "claude-opus-5") -> Request:
    return Request(id="r", lane="main", model=model, start=WHEN, usage=usage, iterations=iterations)


def test_a_compaction_is_billed_though_the_top_level_leaves_it_out():
    compaction = Usage(fresh=10, write_short=0, read=180_000, output=3_500)
    answer = Usage(fresh=23_000, write_short=0, read=0, output=1_000)
    asked = request(answer, compaction, answer)
    assert billable_usage(asked) == Usage(fresh=23_010, write_short=0, read=180_000, output=4_500)
    # Opus 5: $5 fresh, $0.50 read, $25 out.
    paid, equal = PriceBook().price(asked)
    assert paid == 23_010 * 5 * MILLION + 180_000 * MILLION // 2 + 4_500 * 25 * MILLION
    assert equal == (23_010 + 18_000) * MILLION


def test_one_iteration_that_repeats_the_top_level_is_billed_once():
    usage = Usage(fresh=3, write_long=500, read=20_000, output=40)
    same = Usage(fresh=3, write_other=500, read=20_000, output=40)
    assert billable_usage(request(usage, usage)) == usage
    assert billable_usage(request(usage, same)) == usage  # keeps the lifetime that only the top level tells


def test_a_list_that_falls_short_is_incomplete_and_ignored():
    usage = Usage(fresh=3, write_short=500, read=20_000, output=40)
    part = Usage(fresh=3, read=9_000, output=10)
    assert billable_usage(request(usage, part)) == usage
    assert billed_parts(request(usage, part)) == (usage,)


@pytest.mark.parametrize(("output", "complete"), [(39, False), (40, True), (41, True)])
def test_inner_calls_that_reach_the_top_level_are_billed(output: int, complete: bool) -> None:
    """Input and output count together: one token of output less, and the list is incomplete."""
    usage = Usage(fresh=3, read=20_000, output=40)
    inner = Usage(fresh=3, read=9_000, output=0), Usage(fresh=0, read=11_000, output=output)
    assert billed_parts(request(usage, *inner)) == (inner if complete else (usage,))


def test_a_count_that_is_missing_counts_nothing() -> None:
    usage = Usage(output=1)
    inner = Usage(fresh=0, output=0), Usage(output=1)
    assert billed_parts(request(usage, *inner)) == inner
    assert billed_parts(request(Usage(output=2), *inner)) == (Usage(output=2),)
    silent = Usage(fresh=1)
    assert billed_parts(request(silent, Usage(fresh=1, output=0), Usage(fresh=0))) != (silent,)
    assert billed_parts(request(silent, Usage(fresh=0, output=0), Usage(fresh=0))) == (silent,)


def test_each_inner_call_has_the_tier_of_its_own_prompt():
    # Two calls of 80,000 tokens each: neither exceeds Haiku 5.5's 100,000, their sum does.
    call = Usage(fresh=0, read=80_000, output=0)
    asked = request(Usage(fresh=0, read=160_000, output=0), call, call, model="claude-haiku-5-5")
    paid, _ = PriceBook().price(asked)
    assert paid == 160_000 * 10_000  # $0.01 for a million


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        (Usage(fresh=0, write_long=30, read=0, output=0), (10, None)),
        (Usage(fresh=0, write_short=30, read=0, output=0), (None, 10)),
        (Usage(fresh=0, write_short=10, write_long=20, read=0, output=0), (None, None)),
    ],
)
def test_inner_calls_inherit_the_only_lifetime_of_the_request(whole, expected):
    first, second = Usage(write_other=10), Usage(write_other=20)
    parts = billed_parts(request(whole, first, second))
    assert (parts[0].write_long, parts[0].write_short) == expected


def test_a_request_without_usage_is_not_priced():
    assert billable_usage(request(None)) is None
    assert PriceBook().price(request(None)) == (None, None)
    only = Usage(fresh=1, output=1)
    assert billable_usage(request(None, only)) == only


def test_an_unknown_model_has_no_price():
    assert PriceBook().price(request(Usage(fresh=1, output=1), model="no-such-model")) == (None, None)
