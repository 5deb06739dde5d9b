"""Fronts of prompts: views on the same blocks."""

from __future__ import annotations

import pytest

from agentsim.core.prompt import Block, Breakpoint, Prompt


def block(name):
    return Block(section="messages", kind="text", digest=name.encode() * 16, tokens=10)


def test_a_front_is_the_prompt_that_was_cut():
    base = Prompt.of([block("a"), block("b")])
    whole = base.extend([block("c")]).replace_after(2, [block("d"), block("e")], [Breakpoint(3, 300)])
    for length in range(len(whole) + 1):
        front = whole.front(length)
        assert front == whole.replace_after(length, ())
        assert list(front) == list(whole)[:length]
        assert front.tokens == 10 * length
    grown = whole.front(3).extend([block("f")])
    assert [one.digest[:1] for one in grown] == [b"a", b"b", b"d", b"f"]
    assert [one.digest[:1] for one in whole] == [b"a", b"b", b"d", b"e"]


def test_a_front_lies_inside():
    prompt = Prompt.of([block("a"), block("b")])
    assert prompt.front(2, [Breakpoint(1, 300)]).breakpoints == (Breakpoint(1, 300),)
    with pytest.raises(ValueError, match="3 of 2"):
        prompt.front(3)
    with pytest.raises(ValueError, match="breakpoint at block 1"):
        prompt.front(1, [Breakpoint(1, 300)])
