"""The prefix cache of an engine: room, order of giving up, whole pages; by hand."""

from __future__ import annotations

import pytest

from agentsim.cache.engine_cache import EngineCache
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import rules_for

VLLM, SGLANG = rules_for("vllm", "m", None), rules_for("sglang", "m", None)


def request(id, *blocks):
    made = (
        Block(section="messages", kind="kv_block", digest=name.encode().ljust(16, b"."), tokens=tokens)
        for name, tokens in blocks
    )
    return Request(id=id, lane="main", model="m", start=None, prompt=Prompt.of(made))


A, B, C, D = (("a", 100), ("b", 100), ("c", 100), ("d", 100))


def reads(cache, *requests):
    return [cache.serve(request(f"{n}", *blocks), n).usage.read for n, blocks in enumerate(requests)]


def test_a_page_is_read_whole_or_not_and_the_last_token_is_computed():
    assert reads(EngineCache(SGLANG), [A], [A, B], [A, B]) == [0, 100, 199]
    assert reads(EngineCache(VLLM), [A], [A, B], [A, B]) == [0, 96, 192]  # 6 and 12 pages of 16
    assert reads(EngineCache(VLLM), [("x", 160)], [("x", 160)]) == [0, 144]  # the page of the last token again
    assert reads(EngineCache(SGLANG, computes_last=False), [A], [A]) == [0, 100]


def test_the_least_recently_used_goes_first_and_the_tail_before_the_head():
    cache = EngineCache(SGLANG, 300)
    assert reads(cache, [A, B], [C, D], [A, D], [C, D]) == [0, 0, 100, 100]
    # a b | c d: b goes (the tail of the older) | a d': d goes (tail), a is the youngest | c d: c is still there
    assert (cache.held, cache.evicted) == (300, 300)


def test_a_prompt_larger_than_the_cache_keeps_its_head():
    cache = EngineCache(SGLANG, 200)
    assert reads(cache, [A, B, C, D], [A, B, C, D]) == [0, 200]


@pytest.mark.parametrize("rules", [VLLM, SGLANG])
def test_more_room_never_reads_less(rules):
    rows = [[A, B], [C], [A, B, C], [D, A], [A, B, C, D], [C], [D, A, B]]
    sums = [sum(reads(EngineCache(rules, room), *rows)) for room in (0, 100, 200, 400, 800, 10**9)]
    assert sums == sorted(sums)
    assert sums[0] == 0
    assert sums[-1] == sum(reads(EngineCache(rules), *rows))


def test_times_run_forward():
    cache = EngineCache(SGLANG)
    cache.serve(request("1", A), 5)
    with pytest.raises(ValueError, match="order"):
        cache.serve(request("2", A), 4)


def timed(name, at, first_token, *blocks):
    from msgspec.structs import replace

    return replace(request(name, *blocks), start=at, first_token=first_token, end=first_token)


def test_a_block_can_be_read_once_it_is_computed():
    # 400 tokens take 400 ns: one block after the other, at 100, 200, 300 and 400.
    for at, read in ((0, 0), (99, 0), (100, 96), (199, 96), (200, 192), (299, 192), (399, 288), (400, 384)):
        cache = EngineCache(VLLM)
        cache.serve(timed("1", 0, 400, A, B, C, D), 0)
        assert cache.serve(timed("2", at, 1_000, A, B, C, D), at).usage.read == read
    # SGLang keeps a prompt when all of it is computed.
    for at, read in ((0, 0), (399, 0), (400, 399)):
        cache = EngineCache(SGLANG)
        cache.serve(timed("1", 0, 400, A, B, C, D), 0)
        assert cache.serve(timed("2", at, 1_000, A, B, C, D), at).usage.read == read


def test_of_two_that_compute_the_same_the_earlier_one_counts():
    cache = EngineCache(VLLM)
    cache.serve(timed("1", 0, 400, A, B, C, D), 0)
    cache.serve(timed("2", 0, 200, A, B, C, D), 0)
    assert cache.serve(timed("3", 100, 900, A, B, C, D), 100).usage.read == 192
