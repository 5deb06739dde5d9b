"""One page of a chain is given up: the first or the last."""

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
)
from agentsim.engine.lab.subject import model
from agentsim.engine.page_ownership import return_after_eviction


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    machine = model(settings.weights, torch.float32)
    head, tail = return_after_eviction(machine, "head_first"), return_after_eviction(machine, "tail_first")
    rows = tuple(
        (name, f"{made.hit} of {made.prompt}", made.reachable, made.kept, made.difference, made.same_tokens)
        for name, made in (("the first page goes", head), ("the last page goes", tail))
    )
    return Findings(
        figures=(
            MeasuredFigure("prompt", head.prompt, "tokens"),
            MeasuredFigure("first page goes: hit", head.hit, "tokens"),
            MeasuredFigure("first page goes: pages that take room", head.kept),
            MeasuredFigure("first page goes: pages within reach", head.reachable),
            MeasuredFigure("first page goes: difference to no cache", head.difference),
            MeasuredFigure("last page goes: hit", tail.hit, "tokens"),
            MeasuredFigure("last page goes: pages within reach", tail.reachable),
            MeasuredFigure("last page goes: difference to no cache", tail.difference),
            MeasuredFigure("last page goes: the same twelve tokens", tail.same_tokens),
        ),
        tables=(
            ResultTable(
                "A prompt of 195 tokens (12 full pages of 16 and a tail) comes back",
                ("order", "hit", "pages within reach", "pages kept", "difference to no cache", "same tokens"),
                rows,
            ),
        ),
        plots=(
            BarPlot(
                "Tokens reused after one page was given up",
                "tokens",
                (("the first page goes", float(head.hit)), ("the last page goes", float(tail.hit))),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="eviction",
    title="Which page to give up first",
    meaning=(
        "A chain is found from its beginning: without its first page the others take room for nothing, without its "
        "last one they are all of use. It establishes the order within a chain, not which chain to give up first."
    ),
    run=run,
    published={
        "prompt": PublishedFigure(195),
        "first page goes: hit": PublishedFigure(0),
        "first page goes: pages that take room": PublishedFigure(11),
        "first page goes: pages within reach": PublishedFigure(0),
        "first page goes: difference to no cache": PublishedFigure(0.0),
        "last page goes: hit": PublishedFigure(176),
        "last page goes: pages within reach": PublishedFigure(11),
        "last page goes: difference to no cache": PublishedFigure(6.3e-5, Holds.MACHINE),
        "last page goes: the same twelve tokens": PublishedFigure(True),
    },
    needs_model=True,
)
