"""Layers that go by another layer's list of chosen records, and keep K/V of their own."""

from __future__ import annotations

from dataclasses import dataclass

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
    Value,
)
from agentsim.engine.lab.states.full_state import Projections

DIM, TOKENS, MOST, LAYERS = 16, 64, 8, 4
GROUPS = (1, 2, 4)
"""Layers that go by one list."""

INDEX_BYTES = 128 + 4
"""Of one key of an index as DeepSeek-V3.2 keeps it: 128 numbers of eight bits and a step."""


@dataclass(frozen=True, slots=True)
class IndexedPass:
    """What the last token's pass over all layers left, and what was scored, kept and found on the way."""

    hidden: Tensor
    scored: int
    """Records scored for lists."""
    index_keys: int
    kv_records: int
    share: float
    """The share of a layer's own attention on the records that it read, averaged over layers."""


def drawn_layers(generator: torch.Generator) -> list[Projections]:
    """Attention layers with random weights."""
    return [Projections.drawn(generator, dim=DIM, heads=2, kv_heads=1, head_dim=8) for _ in range(LAYERS)]


def attention_of(layer: Projections, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The last token's weights [heads, T] over all records, and their values [T, head_dim]."""
    positions = torch.arange(len(hidden))
    query = layer.queries(hidden, positions)[-1]
    keys, values = layer.records(hidden, positions)
    # Sharp, as trained attention often is: of flat weights no list finds much.
    return torch.softmax(3 * query @ keys[:, 0].T / layer.head_dim**0.5, -1), values[:, 0]


def last_token(layers: list[Projections], inputs: Tensor, group: int, most: int = MOST) -> IndexedPass:
    """The last token through all layers. The first of each ``group`` of layers makes the list for all of them, with an
    index that could not be better: its own attention."""
    hidden, chosen = inputs, torch.arange(len(inputs))
    scored = records = 0
    shares = []
    for number, layer in enumerate(layers):
        weights, values = attention_of(layer, hidden)
        if number % group == 0:
            chosen = torch.topk(weights.mean(0), most).indices
            scored += len(hidden)
        records += len(hidden)
        found = weights[:, chosen]
        shares.append(float(found.sum(-1).mean()))
        read = (found / found.sum(-1, keepdim=True)) @ values[chosen]
        hidden = torch.cat((hidden[:-1], hidden[-1:] + read.flatten() @ layer.output))
    return IndexedPass(hidden[-1], scored, scored, records, sum(shares) / len(shares))


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    generator = torch.Generator().manual_seed(settings.seed)
    rows: list[tuple[Value, ...]] = []
    tries = 10 if settings.brief else 100
    shares = dict.fromkeys(GROUPS, 0.0)
    worst = 0.0
    passes: dict[int, IndexedPass] = {}
    for _ in range(tries):
        layers = drawn_layers(generator)
        inputs = torch.randn(TOKENS, DIM, generator=generator, dtype=torch.float64)
        passes = {group: last_token(layers, inputs, group) for group in GROUPS}
        whole = [last_token(layers, inputs, group, TOKENS).hidden for group in GROUPS]
        worst = max(worst, *(float((each - whole[0]).abs().max()) for each in whole))
        for group, done in passes.items():
            shares[group] += done.share / tries
    for group, done in passes.items():
        rows.append(
            (group, done.scored, done.index_keys * INDEX_BYTES // TOKENS, done.kv_records // TOKENS, shares[group])
        )
    return Findings(
        figures=(
            MeasuredFigure("lists made by four layers, each its own", passes[1].scored // TOKENS),
            MeasuredFigure("lists made, pairs of layers", passes[2].scored // TOKENS),
            MeasuredFigure("lists made, one for all", passes[4].scored // TOKENS),
            MeasuredFigure("layers with K/V, each its own list", passes[1].kv_records // TOKENS),
            MeasuredFigure("layers with K/V, one list for all", passes[4].kv_records // TOKENS),
            MeasuredFigure("share of attention on eight of 64 records, own list", shares[1]),
            MeasuredFigure("share of attention, list of a pair", shares[2]),
            MeasuredFigure("share of attention, one list for all", shares[4]),
            MeasuredFigure("a shared list finds less", shares[1] > shares[2] > shares[4]),
            MeasuredFigure("all records on the list: difference between the ways", worst),
        ),
        tables=(
            ResultTable(
                f"{LAYERS} layers, {TOKENS} records, {MOST} of them read",
                ("layers to a list", "records scored", "index bytes a token", "layers with K/V", "share of attention"),
                tuple(rows),
            ),
        ),
        notes=("Random layers have nothing to do with each other; trained neighbours often look at the same places.",),
    )


EXPERIMENT = Experiment(
    name="index-sharing",
    title="Layers that go by another's list",
    meaning=(
        "Sharing a list saves its scoring and its index in the layers that only read it; K/V stays with each layer, "
        "because what is read is its own. It establishes these counts and that a list made elsewhere can only find "
        "less. How much less does not follow: layers here are random, and a model can be trained to share."
    ),
    run=run,
    published={
        "lists made by four layers, each its own": PublishedFigure(4),
        "lists made, pairs of layers": PublishedFigure(2),
        "lists made, one for all": PublishedFigure(1),
        "layers with K/V, each its own list": PublishedFigure(4),
        "layers with K/V, one list for all": PublishedFigure(4),
        "a shared list finds less": PublishedFigure(True),
        "all records on the list: difference between the ways": PublishedFigure(1e-12, Holds.AT_MOST),
    },
)
