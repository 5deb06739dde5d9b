"""Sizes of K/V in teaching configurations, from the tensors of real states and from arithmetic."""

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
from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.int4_state import Int4History
from agentsim.engine.lab.states.layer_state import LayerState
from agentsim.engine.layouts.alternatives import alternatives
from agentsim.engine.layouts.kv_sizes import GIB, Shape, kv_bytes, number_bytes
from agentsim.engine.layouts.state_layout import StateLayout

LAYERS, TOKENS, HEAD_DIM, HEADS = 32, 32_768, 128, 32


def held(kv_heads: int, *, head_dim: int, heads: int, tokens: int, int4: bool = False) -> LayerState:
    """A layer's state, two bytes a number, after that many tokens."""
    generator = torch.Generator().manual_seed(0)
    weights = Projections.drawn(
        generator, dim=8, heads=heads, kv_heads=kv_heads, head_dim=head_dim, dtype=torch.bfloat16
    )
    state: LayerState = Int4History(weights) if int4 else FullHistory(weights)
    state.record(torch.randn(tokens, 8, generator=generator).to(torch.bfloat16))
    return state


def pairs(heads: int, kv_heads: int, tokens: int) -> int:
    """K/V pairs that a layer keeps: counted on a state, whose keys are one tensor per pair."""
    state = held(kv_heads, head_dim=4, heads=heads, tokens=tokens)
    assert isinstance(state, FullHistory)
    return state.keys.shape[0] * state.keys.shape[1]


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    figures, rows = [], []
    for name, kv_heads in (("MHA", HEADS), ("GQA", 8), ("MQA", 1)):
        shape = Shape(LAYERS, HEADS, kv_heads, HEAD_DIM)
        whole = kv_bytes(shape, TOKENS)
        # 64 tokens of one layer are held for real: the arithmetic stands on them.
        one = held(kv_heads, head_dim=HEAD_DIM, heads=HEADS, tokens=64).bytes
        assert one * LAYERS * (TOKENS // 64) == whole
        figures.append(MeasuredFigure(f"{name}, {kv_heads} K/V heads", whole / GIB, "GiB"))
        rows.append((name, kv_heads, number_bytes(shape.numbers, 16), whole / GIB, kv_bytes(shape, TOKENS, 4) / GIB))
    two_groups = held(2, head_dim=4, heads=8, tokens=1).bytes
    figures += [
        MeasuredFigure("one pair of four numbers each", held(1, head_dim=4, heads=8, tokens=1).bytes, "bytes"),
        MeasuredFigure("two groups, per token", two_groups, "bytes"),
        MeasuredFigure("pairs for five tokens, MHA of eight heads", pairs(8, 8, 5)),
        MeasuredFigure("pairs for five tokens, two groups", pairs(8, 2, 5)),
        MeasuredFigure("pairs for five tokens, MQA", pairs(8, 1, 5)),
    ]
    others = alternatives(StateLayout.plain(Shape(LAYERS, HEADS, 8, HEAD_DIM)), TOKENS)
    return Findings(
        figures=tuple(figures),
        tables=(
            ResultTable(
                "32 layers, 32,768 tokens, head dimension 128, 32 query heads",
                ("heads", "K/V heads", "bytes per token and layer", "16 bits, GiB", "INT4, GiB"),
                tuple(rows),
            ),
            ResultTable(
                "The same model with eight K/V heads, built or kept otherwise",
                ("way", "GiB"),
                tuple((each.name, round(each.bytes / GIB, 3)) for each in others),
            ),
        ),
        plots=(BarPlot("K/V of 32,768 tokens", "GiB", tuple((each.name, each.bytes / GIB) for each in others)),),
    )


EXPERIMENT = Experiment(
    name="kv-size",
    title="How large K/V is, and who shares with whom",
    meaning=(
        "The bytes of K/V follow from layers, tokens, K/V heads and their width; query heads do not count. It "
        "establishes the basic payload, without tables of pages, alignment or workspaces. It does not say that a "
        "trained model could give up K/V heads: these are different models."
    ),
    run=run,
    published={
        "MHA, 32 K/V heads": PublishedFigure(16.0),
        "GQA, 8 K/V heads": PublishedFigure(4.0),
        "MQA, 1 K/V heads": PublishedFigure(0.5),
        "one pair of four numbers each": PublishedFigure(16),
        "two groups, per token": PublishedFigure(32),
        "pairs for five tokens, MHA of eight heads": PublishedFigure(40),
        "pairs for five tokens, two groups": PublishedFigure(10),
        "pairs for five tokens, MQA": PublishedFigure(5),
    },
)
