"""Every kind of state: its error against the definition, its bytes, its reads, and how it goes back."""

from __future__ import annotations

import torch

from agentsim.engine.lab.experiment import (
    BarPlot,
    Experiment,
    Findings,
    Holds,
    LabSettings,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Value,
)
from agentsim.engine.lab.states.layer_state import Unrestorable
from agentsim.engine.lab.states.state_kinds import KINDS, StateFactory, random_inputs

TOKENS = 24
MOST_ERROR = 1e-10


def relative_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest difference, as a share of the largest number."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


def way_back(made: StateFactory) -> str:
    """How the state is taken back to three quarters of its tokens."""
    try:
        made.state.truncate(made.state.length * 3 // 4)
    except Unrestorable:
        return "a snapshot"
    return "leave records out"


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    rows: list[tuple[Value, ...]] = []
    worst = 0.0
    for name, make in KINDS.items():
        made = make(generator)
        inputs = random_inputs(generator, TOKENS)
        split = torch.cat((made.state.append(inputs[:7]), made.state.append(inputs[7:])))
        error = relative_error(split, made.dense(inputs))
        worst = max(worst, error)
        held, reads = made.state.bytes, made.state.reads()
        snapshot = made.state.snapshot().bytes
        rows.append((name, error, held, reads, snapshot, way_back(made)))
    return Findings(
        figures=(MeasuredFigure("largest relative error against the definitions", worst),),
        tables=(
            ResultTable(
                f"A layer (or a group of them) after {TOKENS} tokens, float64",
                ("kind", "error", "bytes kept", "bytes read next", "bytes of a snapshot", "going back takes"),
                tuple(rows),
            ),
        ),
        plots=(
            BarPlot(f"Bytes kept after {TOKENS} tokens", "bytes", tuple((str(r[0]), float(str(r[2]))) for r in rows)),
        ),
    )


EXPERIMENT = Experiment(
    name="attention-kinds",
    title="Nine ways to keep history, against their definitions",
    meaning=(
        "Each kind of state, fed in pieces, gives what its attention is defined to give over all tokens at once. It "
        "establishes that the bytes and the ways back listed here belong to working layers. Weights are random: it "
        "says nothing of which kind makes a better model."
    ),
    run=run,
    published={"largest relative error against the definitions": PublishedFigure(MOST_ERROR, Holds.AT_MOST)},
)
