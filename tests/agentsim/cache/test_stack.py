"""Distances in a stack say for every capacity what a cache of that capacity, simulated block by block, reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.stack_distances import PrefixStack, reaches
from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request
from agentsim.rules.providers import rules_for

SGLANG, VLLM = (rules_for(name, "", None) for name in ("sglang", "vllm"))


def block(name, tokens):
    return Block(section="messages", kind="kv_block", digest=name.to_bytes(16, "big"), tokens=tokens)


def as_keys(blocks):
    ends, total = [], 0
    for _, tokens in blocks:
        total += tokens
        ends.append(total)
    return [*blocks], ends


def runs_of(stack, *prompts):
    runs = []
    for prompt in prompts:
        runs = stack.use(*as_keys(prompt))
    return runs


def test_by_hand():
    """Pages of 10 tokens. A, B and C share their first page; after A, B, C, what was A's end lies below C and B's."""
    a, b, c = ([(0, 10), (n, 10), (n + 10, 10)] for n in (1, 2, 3))
    stack = PrefixStack()
    runs = runs_of(stack, a, b, c, a)
    # The shared page was used last: 10 tokens are enough for it. C's other two are 20, B's 20; then come A's, 10 each.
    assert [(run.below, run.begin, run.ends) for run in runs] == [(0, 0, [10]), (50, 10, [20, 30])]
    assert reaches(runs, (9, 10, 59, 60, 69, 70)) == [0, 10, 10, 20, 20, 30, 30]
    assert stack.tokens == 70


def test_a_prompt_longer_than_the_room_keeps_its_beginning():
    prompt = [(n, 10) for n in range(9)]
    runs = runs_of(PrefixStack(), prompt, prompt)
    assert reaches(runs, (5, 35, 90)) == [0, 30, 90, 90]


def test_models_share_room_and_nothing_else():
    stack = PrefixStack()
    stack.use([1, 2], [10, 20], "one")
    assert stack.use([1, 2], [10, 20], "two") == []
    (run,) = stack.use([1, 2], [10, 20], "one")
    assert run.below == 20


def test_no_blocks_are_no_prefix():
    stack = PrefixStack()
    assert stack.use([], []) == []
    assert stack.use([1], [5]) == []
    assert reaches(stack.use([1], [5]), ()) == [5]
    assert reaches([], (1, 2)) == [0, 0, 0]


prompts = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from((1, 7, 16, 40))), max_size=7), min_size=1, max_size=40
)


@given(prompts=prompts, engine=st.sampled_from((SGLANG, VLLM)), capacities=st.sets(st.integers(0, 400), max_size=4))
def test_every_capacity_as_a_cache_of_that_capacity(prompts, engine, capacities):
    page = engine.quantum
    stack = PrefixStack(page)
    sizes = sorted(capacities)
    caches = [EngineCache(engine, capacity, computes_last=False) for capacity in (*sizes, None)]
    for number, blocks in enumerate(prompts):
        runs = stack.use(*as_keys(blocks))
        prompt = Prompt.of([block(name * 100 + tokens, tokens) for name, tokens in blocks])
        request = Request(id=f"{number}", lane="main", model="", provider="engine", start=number, prompt=prompt)
        for got, cache in zip(reaches(runs, sizes, page), caches, strict=True):
            assert got - got % page == cache.serve(request, number).usage.read
        assert stack.tokens == caches[-1].held
