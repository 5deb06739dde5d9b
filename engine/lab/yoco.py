"""Which positions go through which layers of a four-layer model that shares K/V from its middle."""

from __future__ import annotations

import torch

from agentsim.engine.lab.experiment import (
    BarPlot,
    Experiment,
    Findings,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
)
from agentsim.engine.lab.states.full_state import Projections
from agentsim.engine.lab.states.yoco_state import Yoco

INPUTS, DIM = 1_000, 16


def model(seed: int) -> Yoco:
    """Two layers of windows, two that read the global K/V made after them."""
    generator = torch.Generator().manual_seed(seed)

    def drawn() -> Projections:
        return Projections.drawn(generator, dim=DIM, heads=2, kv_heads=1, head_dim=8)

    return Yoco([drawn(), drawn()], drawn(), [drawn(), drawn()], window=16)


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    inputs = torch.randn(INPUTS + 1, DIM, generator=generator, dtype=torch.float64)
    state = model(settings.seed)
    first = state.prefill(inputs[:INPUTS])
    prefill = dict(state.traversed)
    records = state.history.length
    after = state.append(inputs[INPUTS:])
    decode = {layer: state.traversed[layer] - prefill[layer] for layer in prefill}
    whole = model(settings.seed)
    every = whole.append(inputs)
    difference = max(float((first - every[INPUTS - 1]).abs().max()), float((after - every[INPUTS]).abs().max()))
    return Findings(
        figures=(
            MeasuredFigure("positions in layers 1 and 2, prefill", prefill[1]),
            MeasuredFigure("positions in layers 3 and 4, prefill", prefill[4]),
            MeasuredFigure("positions that skip layers 3 and 4", INPUTS - prefill[4]),
            MeasuredFigure("global K/V records after prefill", records),
            MeasuredFigure("layers that a decoded token goes through", sum(decode.values())),
            MeasuredFigure("against every position through every layer", difference),
        ),
        tables=(
            ResultTable(
                "Positions that went through each layer",
                ("layer", "prefill of 1,000", "one decoded token", "ordinary model, prefill"),
                tuple((layer, prefill[layer], decode[layer], INPUTS) for layer in sorted(prefill)),
            ),
        ),
        plots=(
            BarPlot(
                "Positions through each layer, prefill of 1,000",
                "positions",
                tuple((f"layer {layer}", float(prefill[layer])) for layer in sorted(prefill)),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="yoco",
    title="Positions that skip the later half of a model",
    meaning=(
        "In this architecture K/V of all positions is ready after the middle, and only the last position's prediction "
        "is needed: the others leave there. It establishes which positions are computed, and that the prediction is "
        "the same. It does not apply to ordinary models, whose later layers make their own K/V, nor to scoring or "
        "training, which need predictions at many positions."
    ),
    run=run,
    published={
        "positions in layers 1 and 2, prefill": PublishedFigure(1_000),
        "positions in layers 3 and 4, prefill": PublishedFigure(1),
        "positions that skip layers 3 and 4": PublishedFigure(999),
        "global K/V records after prefill": PublishedFigure(1_000),
        "layers that a decoded token goes through": PublishedFigure(4),
    },
)
