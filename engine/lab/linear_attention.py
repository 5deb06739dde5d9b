"""Two writes and one read of a matrix, in numbers that can be checked by hand."""

from __future__ import annotations

import torch
from torch import Tensor

from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent

WRITES = (((1.0, 2.0), (2.0, 0.0)), ((2.0, 1.0), (0.0, 3.0)))
"""Transformed key and value of two tokens."""
QUERY = (1.0, 2.0)


def vector(*numbers: float) -> Tensor:
    """A vector in float64."""
    return torch.tensor(numbers, dtype=torch.float64)


def written() -> Recurrent:
    """A state of 2 × 2 and a vector, after both writes."""
    nothing = torch.zeros(2, 2, dtype=torch.float64)
    state = Recurrent(LinearWeights(nothing, nothing, nothing, nothing))
    for key, value in WRITES:
        state.add(vector(*key), vector(*value))
    return state


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    state = written()
    assert state.total is not None
    read = state.read(vector(*QUERY))
    scores = [float(vector(*QUERY) @ vector(*key)) for key, _ in WRITES]
    return Findings(
        figures=(
            MeasuredFigure("S", str(state.matrix.int().tolist())),
            MeasuredFigure("z", str(state.total.int().tolist())),
            MeasuredFigure("weighted sum", str((vector(*QUERY) @ state.matrix).int().tolist())),
            MeasuredFigure("total score", float(vector(*QUERY) @ state.total)),
            MeasuredFigure("read, first coordinate", float(read[0])),
            MeasuredFigure("read, second coordinate", float(read[1])),
        ),
        tables=(
            ResultTable(
                "The same read from two records",
                ("record", "score", "weight"),
                tuple((number, score, score / sum(scores)) for number, score in enumerate(scores, start=1)),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="linear-attention",
    title="A matrix instead of records",
    meaning=(
        "With scores that are plain products, sums over history can be kept instead of history: the read is the same "
        "as over all records. It establishes that six numbers replace a growing list here. It does not establish that "
        "softmax attention could be kept this way, and an earlier sum cannot be had back without a copy."
    ),
    run=run,
    published={
        "S": PublishedFigure("[[2, 6], [4, 3]]"),
        "z": PublishedFigure("[3, 3]"),
        "weighted sum": PublishedFigure("[10, 12]"),
        "total score": PublishedFigure(9.0),
        "read, first coordinate": PublishedFigure(10 / 9, Holds.CLOSELY, 1e-12),
        "read, second coordinate": PublishedFigure(12 / 9, Holds.CLOSELY, 1e-12),
    },
)
