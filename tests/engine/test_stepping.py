"""One thread steps an engine for many: what each of them is told, and what a broken one does to the others."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from agentsim.engine.engine_thread import Stepper, Ticket
from agentsim.engine.forward_batch import Batch
from agentsim.engine.inference_engine import Engine
from agentsim.engine.kv_pages import PageRoom
from agentsim.engine.sequence import Sequence
from tests.engine.stub import StubModel, continued

PAGE = 4
POISON = 99


class GatedModel(StubModel):
    """Passes wait until the gate is open. Those over a sequence that begins with POISON raise."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()

    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        self.entered.set()
        assert self.gate.wait(30)
        if POISON in batch.tokens[batch.positions == 0].tolist():
            raise RuntimeError("poison")
        return super().forward(batch, kv)


class Notes:
    """Follows a sequence. ``tokens`` are the counts that it was told of; ``end`` waits for the last word."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.tokens: list[int] = []
        self.said: list[int] = []
        self._breaks_at = breaks_at
        self._end: queue.Queue[Exception | None] = queue.Queue()

    def moved(self, sequence: Sequence) -> None:
        self.tokens.append(len(sequence.generated))
        if len(self.tokens) == self._breaks_at:
            raise KeyError("broken follower")
        if sequence.is_over:
            self.said = sequence.generated
            self._end.put(None)

    def failed(self, error: Exception) -> None:
        self._end.put(error)

    def end(self) -> Exception | None:
        return self._end.get(timeout=30)


class Stage:
    def __init__(self, **options: Any) -> None:
        self.model = GatedModel()
        self.engine = Engine(self.model, pages=options.pop("pages", 60), page_size=PAGE, paranoid=True, **options)
        self.stepper = Stepper(self.engine)

    def ask(self, prompt: list[int], count: int, notes: Notes) -> Ticket:
        return self.stepper.submit(self.engine.chain(prompt), count, notes, 0)

    def ask_together(self, prompts: list[list[int]], count: int, notes: list[Notes]) -> None:
        """The first one's pass waits at the gate until the others are there."""
        self.ask(prompts[0], count, notes[0])
        assert self.model.entered.wait(30)
        for prompt, one in zip(prompts[1:], notes[1:], strict=True):
            self.ask(prompt, count, one)
        self.model.gate.set()


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.model.gate.set()
    made.stepper.close()


def test_all_that_are_there_run_in_one_batch_and_are_told_step_by_step(stage: Stage) -> None:
    prompts = [[number, 1, 2, 3, 4] for number in range(6)]
    notes = [Notes() for _ in prompts]
    stage.ask_together(prompts, 8, notes)
    assert [one.end() for one in notes] == [None] * 6
    assert [one.said for one in notes] == [continued(prompt, 8) for prompt in prompts]
    assert [one.tokens for one in notes] == [list(range(1, 9))] * 6
    # The first begins a step before the others: 8 + 1 steps where one after the other takes 6 * 8.
    assert stage.engine.steps == 9


def test_the_first_to_come_is_the_first_to_be_served() -> None:
    stage = Stage(step_sequences=2)
    finished: list[int] = []

    class Ordered(Notes):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def moved(self, sequence: Sequence) -> None:
            super().moved(sequence)
            if sequence.is_over:
                finished.append(self.number)

    notes = [Ordered(number) for number in range(6)]
    for number, one in enumerate(notes):
        stage.ask([number, 1, 2], 3, one)
    stage.model.gate.set()
    assert [one.end() for one in notes] == [None] * 6
    assert finished == [0, 1, 2, 3, 4, 5]
    stage.stepper.close()


def test_a_dropped_sequence_frees_its_pages_before_the_next_step(stage: Stage) -> None:
    kept, dropped = Notes(), Notes()
    stage.ask([1, 2, 3], 12, kept)
    assert stage.model.entered.wait(30)
    ticket = stage.ask([5, 6, 7], 200, dropped)
    waiting = stage.ask([7, 6, 7], 200, dropped)
    stage.stepper.drop(waiting)
    stage.stepper.drop(ticket)
    stage.stepper.drop(ticket)
    stage.model.gate.set()
    assert kept.end() is None
    assert kept.said == continued([1, 2, 3], 12)
    assert dropped.tokens == []
    stage.stepper.close()
    assert stage.engine.pool.referenced == 0
    assert stage.engine.steps == 12
    stage.engine.scheduler.check_integrity()


def test_a_sequence_whose_pass_raises_leaves_the_others_alone(stage: Stage) -> None:
    prompts = [[1, 2, 3, 4, 5], [POISON, 1], [2, 2, 3]]
    notes = [Notes() for _ in prompts]
    stage.ask_together(prompts, 5, notes)
    assert [str(one.end()) for one in notes] == ["None", "poison", "None"]
    assert notes[0].said == continued(prompts[0], 5)
    assert notes[2].said == continued(prompts[2], 5)
    stage.stepper.close()
    assert stage.engine.pool.referenced == 0


def test_a_pass_that_raises_once_is_made_up_for(stage: Stage) -> None:
    stage.model.failing = 1
    notes = Notes()
    stage.ask([1, 2, 3], 4, notes)
    stage.model.gate.set()
    assert notes.end() is None
    assert notes.said == continued([1, 2, 3], 4)


def test_a_follower_that_raises_loses_its_own_sequence_alone(stage: Stage) -> None:
    good, bad = Notes(), Notes(breaks_at=2)
    stage.ask([1, 2, 3], 6, good)
    stage.ask([3, 2, 1], 6, bad)
    stage.model.gate.set()
    assert isinstance(bad.end(), KeyError)
    assert good.end() is None
    assert good.said == continued([1, 2, 3], 6)
    stage.stepper.close()
    assert stage.engine.pool.referenced == 0


def test_what_the_engine_refuses_is_told_to_who_asked(stage: Stage) -> None:
    stage.model.gate.set()
    refused, served = Notes(), Notes()
    stage.ask([1] * 400, 4, refused)  # 60 pages of 4 tokens hold 240
    stage.ask([1, 2], 2, served)
    assert "do not fit into 60 pages" in str(refused.end())
    assert served.end() is None


def test_where_no_sequence_is_to_blame_all_fail_and_the_next_one_is_served(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, later = Notes(), Notes(), Notes()
    stage.ask([1, 2, 3], 4, one)
    assert stage.model.entered.wait(30)
    plan = stage.engine.scheduler.plan

    def broken() -> Any:
        raise OSError("no plan")

    monkeypatch.setattr(stage.engine.scheduler, "plan", broken)
    stage.ask([4, 5, 6], 4, other)
    stage.model.gate.set()
    assert [str(one.end()), str(other.end())] == ["no plan"] * 2
    monkeypatch.setattr(stage.engine.scheduler, "plan", plan)
    stage.ask([1, 2, 3], 4, later)
    assert later.end() is None
    assert later.said == continued([1, 2, 3], 4)


def test_closing_ends_what_is_under_way_and_may_be_followed_by_more(stage: Stage) -> None:
    cut, after = Notes(), Notes()
    stage.ask([1, 2, 3], 200, cut)
    assert stage.model.entered.wait(30)
    threading.Timer(0.2, stage.model.gate.set).start()  # the pass is over while close waits for it
    stage.stepper.close()
    assert stage.engine.steps == 1
    assert str(cut.end()) == "the engine was stopped"
    assert stage.engine.pool.referenced == 0
    stage.ask([1, 2, 3], 4, after)
    assert after.end() is None
    stage.stepper.close()
