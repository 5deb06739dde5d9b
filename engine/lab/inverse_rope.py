"""Turning back what was read from rotated vectors that serve as values."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from agentsim.engine.lab.experiment import Experiment, Findings, Holds, LabSettings, MeasuredFigure, PublishedFigure
from agentsim.engine.lab.states.rotary_positions import rotate, turn

DEGREE = math.pi / 180


def turned(vector: Tensor, degrees: float) -> Tensor:
    """A pair of numbers turned by an angle."""
    return turn(vector[None, None], torch.tensor([[degrees * DEGREE]], dtype=torch.float64))[0, 0]


def relative_error(seed: int) -> float:
    """How far scores of separately rotated vectors are from those of one rotation by the distance."""
    generator = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(1, 1, 16, generator=generator, dtype=torch.float64) for _ in range(2))
    worst = 0.0
    for m, n in ((0, 0), (10, 3), (500, 499), (4_000, 1)):
        both = rotate(query, torch.tensor([m])).flatten() @ rotate(key, torch.tensor([n])).flatten()
        one = query.flatten() @ rotate(key, torch.tensor([n - m])).flatten()
        worst = max(worst, abs(float(both - one)))
    return worst


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    records = torch.tensor([[2.0, 0.0], [0.0, 4.0]], dtype=torch.float64)
    weights = torch.tensor([0.75, 0.25], dtype=torch.float64)
    mixed = weights @ records
    query_at, per_position = 10, 10.0
    back = turned(mixed, -query_at * per_position)
    each = sum((w * turned(r, -query_at * per_position) for w, r in zip(weights, records, strict=True)), torch.zeros(2))
    return Findings(
        figures=(
            MeasuredFigure("read, first coordinate", float(mixed[0])),
            MeasuredFigure("read, second coordinate", float(mixed[1])),
            MeasuredFigure("turned back, first coordinate", float(back[0])),
            MeasuredFigure("turned back, second coordinate", float(back[1])),
            MeasuredFigure("turning each record instead: difference", float((back - each).abs().max())),
            MeasuredFigure("rotations combine to the distance: error", relative_error(settings.seed)),
        ),
        notes=("The records themselves stay as they were stored: the next query reads them again.",),
    )


EXPERIMENT = Experiment(
    name="inverse-rope",
    title="One vector for K and V, turned back after reading",
    meaning=(
        "When one rotated vector serves as key and value, what is read carries rotation, and one turn at the query's "
        "position brings it to positions relative to the query. It establishes that one turn of the sum equals turns "
        "of all its parts. It does not give what unrotated values would have given: the model must be trained this way."
    ),
    run=run,
    published={
        "read, first coordinate": PublishedFigure(1.5),
        "read, second coordinate": PublishedFigure(1.0),
        "turned back, first coordinate": PublishedFigure(0.724, Holds.CLOSELY, 0.0005),
        "turned back, second coordinate": PublishedFigure(-1.651, Holds.CLOSELY, 0.0005),
        "turning each record instead: difference": PublishedFigure(1e-12, Holds.AT_MOST),
    },
)
