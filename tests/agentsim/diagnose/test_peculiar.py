"""Verdicts on caches of units and of slots: what was the same and not found, and why."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Request, Session, Usage
from agentsim.diagnose import diagnose
from tests.agentsim.prompts import block, prompt, request, session

SIZE = 6_400


def turn(name: str, at: int, letters: str, provider: str, model: str, read: int, lane: str = "main") -> Request:
    """A request whose blocks are letters of 6,400 tokens each."""
    total = SIZE * len(letters)
    made = request(
        name,
        at,
        prompt([block(letter, SIZE) for letter in letters]),
        lasts=5,
        model=model,
        lane=lane,
        usage=Usage(fresh=total - read, read=read, output=3),
    )
    return msgspec.structs.replace(made, provider=provider)


def deepseek(*reads: int) -> Session:
    prompts = ("AB", "AC", "AD", "ADE")
    return session(
        turn(letters, n * 60, letters, "deepseek", "deepseek-flash", read)
        for n, (letters, read) in enumerate(zip(prompts, reads, strict=True))
    )


def test_a_unit_that_nobody_stored_yet_is_no_riddle():
    first, second, third, fourth = diagnose(deepseek(0, 0, SIZE, 2 * SIZE)).verdicts
    assert first.kind == "first"
    assert (second.kind, second.cause, second.evidence) == ("miss", "AS120", "proved")
    assert "no stored unit ends there yet" in second.established[0]
    assert (second.predicted, second.prediction) == (0, "exact")
    # From the third on what they share is a unit, and was read: of what was kept nothing else is in the prompt.
    assert (third.kind, third.predicted, third.prediction, third.lost) == ("shorter", SIZE, "exact", 0)
    assert (fourth.kind, fourth.predicted) == ("hit", 2 * SIZE)


def test_a_unit_that_was_stored_and_is_not_found_is_unexplained():
    fourth = diagnose(deepseek(0, 0, SIZE, 0)).verdicts[3]
    assert (fourth.cause, fourth.evidence, fourth.predicted) == ("AS902", "unexplained", 2 * SIZE)


def test_where_writing_costs_nothing_a_loss_costs_input_minus_read():
    verdict = diagnose(deepseek(0, 0, SIZE, 0)).verdicts[3]
    # $0.15 for a million tokens of input and $0.003 for reads; 12,800 tokens could have been read. 2026-09 at night.
    assert verdict.lost == 2 * SIZE
    assert verdict.lost_cost in (verdict.lost * (150_000 - 3_000), verdict.lost * (300_000 - 6_000))


@pytest.mark.parametrize(("provider", "model"), [("llama.cpp", "qwen3-coder"), ("ollama", "qwen3-coder")])
def test_a_slot_that_another_conversation_took_is_named(provider, model):
    mine = [turn("m1", 0, "AB", provider, model, 0), turn("m2", 60, "ABC", provider, model, 0)]
    other = turn("o1", 30, "XY", provider, model, 0, "other")
    verdict = diagnose(session([mine[0], other, mine[1]])).verdicts[2]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS504", "likely")
    assert "Since request m1 another prompt was computed in its slot" in verdict.established[0]
    alone = [mine[0], msgspec.structs.replace(mine[1], usage=Usage(fresh=SIZE, read=2 * SIZE, output=3))]
    assert diagnose(session(alone)).verdicts[1].kind == "hit"
    # Lost though nobody took the slot: that is not the reason.
    assert diagnose(session(mine)).verdicts[1].cause != "AS504"


def test_an_engine_is_judged_without_a_price():
    asked = [turn("1", 0, "AB", "vllm", "m", 0), turn("2", 60, "AB", "vllm", "m", 2 * SIZE - 16)]
    diagnosis = diagnose(session(asked))
    assert [verdict.kind for verdict in diagnosis.verdicts] == ["first", "hit"]
    assert diagnosis.verdicts[1].prediction == "exact"
    assert diagnosis.totals.cost == 0
    assert diagnosis.totals.unpriced
    assert all(row.cost is None for row in diagnosis.rows)
