"""The small decoder's controls: three paths to the same scores, and a splice that changes them."""

from __future__ import annotations

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.reuse_controls import cached_control, splice_control
from agentsim.engine.weights.tiny import tiny_weights


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    figures: list[MeasuredFigure] = []
    rows = []
    for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        for how, row_by_row in (("row by row", True), ("batched", False)):
            made = cached_control(Decoder(tiny_weights(), dtype, row_by_row=row_by_row))
            rows.append(
                (f"{name}, {how}", made.hit, made.computed, made.cached_against_full, made.cached_against_split)
            )
            if row_by_row:
                figures += [
                    MeasuredFigure(f"{name}: cached against full", made.cached_against_full),
                    MeasuredFigure(f"{name}: cached against split", made.cached_against_split),
                ]
    figures += [
        MeasuredFigure("inputs", ", ".join(map(str, made.inputs)), "tokens"),
        MeasuredFigure("hit", made.hit, "tokens"),
        MeasuredFigure("computed", made.computed, "tokens"),
    ]
    splice = splice_control(Decoder(tiny_weights(), torch.float64, row_by_row=True))
    figures += [
        MeasuredFigure("document's keys in layer 1, other context", splice.first_layer_keys),
        MeasuredFigure("document's keys in layer 2, other context", splice.second_layer_keys),
        MeasuredFigure("layer 2 differs", splice.second_layer_keys > 0.01),
        MeasuredFigure("scores after an invalid splice", splice.invalid_splice),
        MeasuredFigure("an invalid splice changes scores", splice.invalid_splice > 0.01),
        MeasuredFigure("scores after a full replay", splice.full_replay),
    ]
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                "The third request of 47 tokens: read from the cache, at once, and split",
                ("arithmetic", "hit", "computed", "cached − full", "cached − split"),
                tuple(rows),
            ),
        ),
        notes=(
            (
                "Row by row, a token's sums do not depend on what else is in the batch, so that a difference would be "
                "an error of bookkeeping. Batched products choose their order by shape: there last digits may differ."
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="controls",
    title="Three paths to the same logits, and a splice that is none",
    meaning=(
        "Reading a cached prefix gives the scores and the K/V of computing it, without any difference; K/V from behind "
        "another context of equal length does not, from the second layer on. It establishes that the engine's pages, "
        "chains and positions are right. The model is random: it says nothing of how much a splice would change what "
        "a trained model says."
    ),
    run=run,
    published={
        "inputs": PublishedFigure("42, 45, 47"),
        "hit": PublishedFigure(32),
        "computed": PublishedFigure(15),
        "float64: cached against full": PublishedFigure(0.0),
        "float64: cached against split": PublishedFigure(0.0),
        "float32: cached against full": PublishedFigure(0.0),
        "float32: cached against split": PublishedFigure(0.0),
        "document's keys in layer 1, other context": PublishedFigure(0.0),
        "document's keys in layer 2, other context": PublishedFigure(2.112007, Holds.MACHINE),
        "layer 2 differs": PublishedFigure(True),
        "scores after an invalid splice": PublishedFigure(1.311954, Holds.MACHINE),
        "an invalid splice changes scores": PublishedFigure(True),
        "scores after a full replay": PublishedFigure(0.0),
    },
)
