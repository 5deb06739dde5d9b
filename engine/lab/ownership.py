"""A request that gets another one's pages: what becomes of the other one's tokens, and what prevents it."""

from __future__ import annotations

import torch

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)
from agentsim.engine.lab.subject import model, subject, words_of
from agentsim.engine.page_ownership import Damage, protected_until, shared_and_left, taken_while_writing

START = 300
"""The token of the document at which the stories begin."""


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    machine = model(settings.weights, torch.float32)
    text = subject(settings.weights).document[START:]
    settings.say("B arrives while A writes")
    alone = {
        "none": taken_while_writing(machine, "none", text=text),
        "counts": taken_while_writing(machine, "counts", text=text),
    }
    settings.say("A1 leaves, A2 goes on")
    shared = {
        "flag": shared_and_left(machine, "flag", text=text),
        "counts": shared_and_left(machine, "counts", text=text),
    }
    settings.say("until when")
    copied = protected_until(machine, "copy", "copied")
    matched, read = protected_until(machine, "shared", "copied"), protected_until(machine, "shared", "last read")
    until = {
        "a private copy, given up after the copy": copied,
        "shared pages, given up after the match": matched,
        "shared pages, given up after the last read": read,
    }
    stories = {
        "B arrives while A writes; recency alone": alone["none"],
        "B arrives while A writes; readers counted": alone["counts"],
        "A1 and A2 share, A1 leaves; a mark “in use”": shared["flag"],
        "A1 and A2 share, A1 leaves; readers counted": shared["counts"],
        **until,
    }
    rows: list[tuple[Value, ...]] = [
        (name, made.waited, f"{made.changed} of {made.compared}", made.difference) for name, made in stories.items()
    ]
    return Findings(
        figures=(
            MeasuredFigure(
                "recency alone: tokens of A that change",
                f"{alone['none'].changed} of {alone['none'].compared}"),
            MeasuredFigure("recency alone: largest difference of scores", alone["none"].difference),
            MeasuredFigure("recency alone: A is damaged", _damaged(alone["none"])),
            MeasuredFigure("readers counted: B waits", alone["counts"].waited),
            MeasuredFigure("readers counted: difference of A", alone["counts"].difference),
            MeasuredFigure(
                "a mark: tokens of A2 that stay", f"{shared['flag'].compared - shared['flag'].changed} of "
                f"{shared['flag'].compared}",
            ),
            MeasuredFigure("a mark: largest difference of scores", shared["flag"].difference),
            MeasuredFigure("a mark: A2 is damaged", _damaged(shared["flag"])),
            MeasuredFigure("shared, readers counted: difference of A2", shared["counts"].difference),
            MeasuredFigure("a private copy may lose its source", not _damaged(copied)),
            MeasuredFigure("shared pages may not", _damaged(matched)),
            MeasuredFigure("until the last read", not _damaged(read)),
        ),
        tables=(
            ResultTable(
                "What A says beside what it says alone",
                ("story", "B waits", "tokens that change", "largest difference of scores"),
                tuple(rows),
            ),
            ResultTable(
                "The token that A would say at each step, in one line",
                ("story", "alone", "with its page overwritten"),
                tuple(
                    (name, words_of(settings.weights, made.alone), words_of(settings.weights, made.said))
                    for name, made in (("B arrives while A writes", alone["none"]), ("A1 leaves, A2", shared["flag"]))
                ),
            ),
        ),
    )  # fmt: skip


def _damaged(made: Damage) -> bool:
    return made.difference > 0


EXPERIMENT = Experiment(
    name="ownership",
    title="Who may write on a page",
    meaning=(
        "Pages that are given out without counting readers are overwritten while they are read, and tokens change "
        "without any error message; a single mark is not enough when two requests share pages. It establishes that the "
        "overwrites happen and that counts prevent them, bit for bit. How many tokens change depends on model, text "
        "and moment: a page that is overwritten may also leave all of them as they were."
    ),
    run=run,
    published={
        "recency alone: tokens of A that change": PublishedFigure("12 of 16", Holds.MACHINE),
        "recency alone: largest difference of scores": PublishedFigure(24.5, Holds.MACHINE),
        "recency alone: A is damaged": PublishedFigure(True),
        "readers counted: B waits": PublishedFigure(True),
        "readers counted: difference of A": PublishedFigure(0.0),
        "a mark: tokens of A2 that stay": PublishedFigure("19 of 20", Holds.MACHINE),
        "a mark: largest difference of scores": PublishedFigure(5.2, Holds.MACHINE),
        "a mark: A2 is damaged": PublishedFigure(True),
        "shared, readers counted: difference of A2": PublishedFigure(0.0),
        "a private copy may lose its source": PublishedFigure(True),
        "shared pages may not": PublishedFigure(True),
        "until the last read": PublishedFigure(True),
    },
    needs_model=True,
)
