"""Prompts of block identities share their fronts, and are what they would be alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsim.traces.block_prompts import BlockPrompts

SIZE = 16

rows = st.lists(
    st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1 - SIZE, 0)), min_size=1, max_size=12
)


@given(rows)
def test_sharing_changes_nothing(drawn):
    """Ids repeat anywhere here, as no trace's should: even then a prompt has its own blocks."""
    shared = BlockPrompts(SIZE)
    for ids, short in drawn:
        total = len(ids) * SIZE + short
        prompt = shared.prompt(ids, total)
        alone = BlockPrompts(SIZE).prompt(ids, total)
        assert list(prompt) == list(alone)
        assert (prompt.digest, prompt.tokens) == (alone.digest, total)
        assert [prompt.tokens_until(end) for end in range(1, len(ids))] == [end * SIZE for end in range(1, len(ids))]


def test_the_front_is_shared_with_whatever_prompt_holds_it():
    """The third goes on with the first, although another conversation came between."""
    made = BlockPrompts(SIZE)
    first = made.prompt([1, 2, 3, 4], 4 * SIZE)
    made.prompt([1, 7, 8], 3 * SIZE)
    third = made.prompt([1, 2, 3, 9, 10], 5 * SIZE)
    assert [third[place] is first[place] for place in range(5 - 2)] == [True] * 3
    assert third.common_length(first) == 3
    assert third._segment is first._segment or third._segment.parent is first._segment
