"""The worlds without breakpoints: steps, units, and what is shared."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.automatic_world import AutomaticWorld
from benchmarks.verdicts.breakpoint_world import Billed, Sent
from benchmarks.verdicts.documented_rules import CODEX, DEEPSEEK, GPT_54, ModelRules
from benchmarks.verdicts.wire_positions import positions_of, tokens_of


def body(*texts: str, rules: ModelRules = GPT_54) -> dict:
    messages = [{"role": "user", "content": text} for text in texts]
    if rules.api == "responses":
        items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": t}]} for t in texts]
        return {"model": rules.model, "input": items}
    return {"model": rules.model, "messages": messages}


def words(name: str, count: int) -> str:
    return " ".join([name] * count)


def ask(world: AutomaticWorld, start: float, *texts: str) -> Billed:
    return world.answer(Sent(body(*texts, rules=world.rules), start, start + 1, start + 5))


def test_a_read_is_rounded_down_to_the_step() -> None:
    world = AutomaticWorld(GPT_54)
    first = ask(world, 0, words("alpha", 1_500))
    assert ask(world, 30, words("alpha", 1_500), words("beta", 50)).read == first.total // 128 * 128


@pytest.mark.parametrize(("count", "read"), [(1_019, False), (1_020, True)])
def test_nothing_below_the_minimum_is_read(count: int, read: bool) -> None:
    world = AutomaticWorld(GPT_54)
    size = tokens_of(positions_of(body(words("alpha", count)), "chat"))
    ask(world, 0, words("alpha", count))
    assert (ask(world, 30, words("alpha", count), "more").read > 0) is read
    assert (size >= 1_024) is read


@pytest.mark.parametrize(("more", "read"), [(0, 4_992), (1, 5_504)])
def test_codex_reads_in_steps_with_an_offset(more: int, read: int) -> None:
    world = AutomaticWorld(CODEX)
    first = words("alpha", 5_503 - 4 + more)
    assert ask(world, 0, first).total == 5_503 + more
    assert ask(world, 30, first, "more").read == read


def test_units_are_read_as_a_whole_and_a_common_beginning_from_the_third_request_on() -> None:
    """A+B, A+C, A+D: the third is the first to read A."""
    world = AutomaticWorld(DEEPSEEK)
    shared = words("alpha", 700)
    assert ask(world, 0, shared, words("beta", 600)).read == 0
    assert ask(world, 30, shared, words("gamma", 600)).read == 0
    size = tokens_of(positions_of(body(shared), "chat"))
    assert ask(world, 60, shared, words("delta", 600)).read == size // 128 * 128


def test_what_was_not_used_for_long_is_gone() -> None:
    world = AutomaticWorld(GPT_54, idle=600)
    ask(world, 0, words("alpha", 1_500))
    assert ask(world, 599, words("alpha", 1_500), "x").read > 0
    assert ask(world, 599 + 601, words("alpha", 1_500), "y").read == 0
