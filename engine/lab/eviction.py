"""One page of a chain is given up: the first or the last."""

from __future__ import annotations

import torch

from engine.lab.experiment import BarPlot, Experiment, Figure, Findings, Holds, Published, Settings, Table
from engine.lab.subject import model
from engine.ownership import return_after_eviction


def run(settings: Settings) -> Findings:
    """See :class:`Experiment`."""
    machine = model(settings.weights, torch.float32)
    head, tail = return_after_eviction(machine, "head_first"), return_after_eviction(machine, "tail_first")
    rows = tuple(
        (name, f"{made.hit} of {made.prompt}", made.reachable, made.kept, made.difference, made.same_tokens)
        for name, made in (("the first page goes", head), ("the last page goes", tail))
    )
    return Findings(
        figures=(
            Figure("prompt", head.prompt, "tokens"),
            Figure("first page goes: hit", head.hit, "tokens"),
            Figure("first page goes: pages that take room", head.kept),
            Figure("first page goes: pages within reach", head.reachable),
            Figure("first page goes: difference to no cache", head.difference),
            Figure("last page goes: hit", tail.hit, "tokens"),
            Figure("last page goes: pages within reach", tail.reachable),
            Figure("last page goes: difference to no cache", tail.difference),
            Figure("last page goes: the same twelve tokens", tail.same_tokens),
        ),
        tables=(
            Table(
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
        "prompt": Published(195),
        "first page goes: hit": Published(0),
        "first page goes: pages that take room": Published(11),
        "first page goes: pages within reach": Published(0),
        "first page goes: difference to no cache": Published(0.0),
        "last page goes: hit": Published(176),
        "last page goes: pages within reach": Published(11),
        "last page goes: difference to no cache": Published(6.3e-5, Holds.MACHINE),
        "last page goes: the same twelve tokens": Published(True),
    },
    needs_model=True,
)
