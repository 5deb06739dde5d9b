"""The tree and the blocks against the plain definition of a longest shared beginning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsim.engine.lab.radix import Blocks, RadixTree, common

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12)


@given(PROMPTS)
def test_a_tree_finds_the_longest_beginning_that_any_prompt_shared(prompts: list[list[int]]) -> None:
    tree = RadixTree()
    for number, prompt in enumerate(prompts):
        longest = max((common(prompt, other) for other in prompts[:number]), default=0)
        assert tree.insert(prompt) == longest
    # No segment is empty, and none has a single child that it could be one with, but where a prompt ended.
    assert all(segment.tokens for segment in tree.segments())
    assert sum(len(segment.tokens) for segment in tree.segments()) == len(
        {tuple(prompt[:end]) for prompt in prompts for end in range(1, len(prompt) + 1)}
    )


@given(PROMPTS, st.integers(1, 5))
def test_blocks_find_its_whole_blocks(prompts: list[list[int]], size: int) -> None:
    blocks = Blocks(size)
    for number, prompt in enumerate(prompts):
        longest = max((common(prompt, other) for other in prompts[:number]), default=0)
        assert blocks.insert(prompt) == longest // size * size
