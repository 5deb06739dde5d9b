"""What of a prompt that was cached is still in the next one: blocks, and the text that an edited block kept."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Prompt
from agentsim.core.verdict import LEAST_LOSS
from agentsim.diagnose.kept_content import is_replaced, unread_content
from tests.agentsim import prompts

PROSE = "the house has rules and the rules are old " * 40


def block(text: str, tokens: int, section: str = "messages") -> Block:
    return Block(
        section=section,  # type: ignore[arg-type]
        kind="text",
        role="user" if section == "messages" else None,
        digest=blake2b(f"{section}{text}".encode(), digest_size=16).digest(),
        tokens=tokens,
        text=text,
        message=0,
    )


def edited(behind: int) -> int:
    """What is unread of a head of 20,000 tokens in which a clock ticked, with so many equal tokens behind it."""
    clock = [block(f"{PROSE} 10:0{minute} {PROSE}", 20_000, "system") for minute in (1, 2)]
    tail = [block(f"turn {number}", 1) for number in range(behind)]
    old, new = (Prompt.of([head, *tail]) for head in clock)
    return unread_content(old, len(old), new, 0, 0, "volatile").tokens


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_loss_never_shrinks_with_what_stands_behind_the_edit(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert edited(many) - edited(few) == many - few
    assert edited(0) == 20_000


def test_of_an_edited_block_its_unchanged_text_counts_and_no_more() -> None:
    def unread(before: str, after: str) -> int:
        old, new = (Prompt.of([block("q", 10), block(text, 1_000), block("z", 50)]) for text in (before, after))
        return unread_content(old, 3, new, 1, 10).tokens

    assert unread("a" * 100, "b" * 100) == 50, "nothing of it is left"
    assert unread("a" * 100, "a" * 75 + "b" * 25) == 50 + 750
    assert unread("a" * 100, "a" * 30 + "b" * 40 + "a" * 30) == 50 + 600, "in front of the edit and behind it"


def test_a_head_that_was_replaced_is_lost_where_nothing_else_is_left() -> None:
    def unread(behind: int) -> int:
        heads = (block("a" * 100, 3_000, "system"), block("b" * 100, 2_000, "system"))
        old, new = (Prompt.of([head, block("q", behind)]) for head in heads)
        return unread_content(old, 2, new, 0, 0).tokens

    assert unread(LEAST_LOSS - 1) == 2_000
    assert unread(LEAST_LOSS) == LEAST_LOSS


def test_what_was_read_of_an_edited_block_was_not_lost() -> None:
    old, new = (Prompt.of([block(f"{PROSE} {word} {PROSE}", 1_000)]) for word in ("one", "two"))
    assert unread_content(old, 1, new, 0, 700).tokens == 300


@pytest.mark.parametrize(
    ("rounds", "left", "came", "replaced"),
    [
        (2, (), ("summary",), True),  # four blocks are gone
        (2, (), (), False),  # nothing came in their place
        (2, ("u1",), ("summary",), False),  # of four blocks one is left: three are gone
        (3, ("u1",), ("summary",), True),
        (3, ("u1",), (), False),  # what is there was sent before
        (3, ("a1",), ("summary",), False),  # an answer is left
    ],
)
def test_a_history_is_replaced_where_four_blocks_and_every_answer_are_gone(
    rounds: int, left: tuple[str, ...], came: tuple[str, ...], replaced: bool
) -> None:
    def said(name: str) -> Block:
        return prompts.block(name, 100, role="assistant" if name.startswith("a") else "user")

    head = prompts.block("be brief", 1_000, "system", role=None)
    old = prompts.prompt([head, *(said(f"{who}{number}") for number in range(rounds) for who in "ua")])
    new = prompts.prompt([head, *map(said, (*came, *left))])
    assert is_replaced(1, old, new, 2_000, 1_999) == replaced
    assert not is_replaced(1, old, new, 2_000, 2_000), "nothing is shorter"
    assert not is_replaced(0, old, new, 2_000, 1_999), "the system text is another one, too"
