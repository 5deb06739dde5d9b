"""What each kind of attention is, written down plainly: every position by itself, nothing kept, nothing clever.

The states must agree with these. They share no code with them: rotations are complex numbers here, masks are ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import Projections
from agentsim.engine.lab.states.indexed_state import IndexWeights
from agentsim.engine.lab.states.latent_state import LatentWeights
from agentsim.engine.lab.states.one_vector_state import OneVectorWeights
from agentsim.engine.lab.states.recurrent_state import LinearWeights
from agentsim.kernels import pack_int4, unpack_int4

Readable = Callable[[int], Sequence[int]]
"""Which positions the query at a position reads."""


def everything(position: int) -> Sequence[int]:
    """Full causal attention."""
    return range(position + 1)


def recent(window: int) -> Readable:
    """A window that counts the query's own position."""
    return lambda position: range(max(0, position - window + 1), position + 1)


def turned(vector: Tensor, position: int) -> Tensor:
    """A vector [dim] rotated by its position, as complex numbers."""
    pairs = torch.view_as_complex(vector.to(torch.float64).unflatten(-1, (-1, 2)).contiguous())
    speeds = 10_000.0 ** (-torch.arange(len(pairs), dtype=torch.float64) / len(pairs))
    return (
        torch.view_as_real(pairs * torch.polar(torch.ones_like(speeds), position * speeds)).flatten().to(vector.dtype)
    )


def heads_of(inputs: Tensor, weights: Tensor, heads: int, *, rotated: bool) -> list[list[Tensor]]:
    """For each position and head, its projected vector."""
    return [
        [turned(part, position) if rotated else part for part in (row @ weights).chunk(heads)]
        for position, row in enumerate(inputs)
    ]


def mix(query: Tensor, keys: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """Softmax attention of one query."""
    scores = torch.stack([query @ key for key in keys]) / len(query) ** 0.5
    weights = torch.exp(scores - scores.max())
    return sum((w * v for w, v in zip(weights / weights.sum(), values, strict=True)), torch.zeros_like(values[0]))


def softmax_layer(
    weights: Projections,
    inputs: Tensor,
    readable: Readable = everything,
    *,
    records_from: Tensor | None = None,
    keep: Callable[[Tensor], Tensor] = lambda vector: vector,
    records: Projections | None = None,
) -> Tensor:
    """An attention layer whose K and V come from ``records_from`` (itself), pass through ``keep``, and are projected
    by ``records`` (its own weights)."""
    source, made_by = inputs if records_from is None else records_from, records or weights
    queries = heads_of(inputs, weights.query, weights.heads, rotated=True)
    keys = heads_of(source, made_by.key, made_by.kv_heads, rotated=True)
    values = heads_of(source, made_by.value, made_by.kv_heads, rotated=False)
    per_group = weights.heads // made_by.kv_heads
    rows = []
    for position in range(len(inputs)):
        reads = [
            mix(
                queries[position][head],
                [keep(keys[other][head // per_group]) for other in readable(position)],
                [keep(values[other][head // per_group]) for other in readable(position)],
            )
            for head in range(weights.heads)
        ]
        rows.append(torch.cat(reads) @ weights.output)
    return torch.stack(rows)


def int4_layer(weights: Projections, inputs: Tensor) -> Tensor:
    """Full attention over K and V that went through four bits."""
    return softmax_layer(weights, inputs, keep=lambda vector: unpack_int4(*pack_int4(vector), vector.dtype))


def shared_global(shared: Projections, layers: Sequence[Projections], window: int, inputs: Tensor) -> Tensor:
    """A group of layers that read one global history, each beside a window of its own."""
    hidden = inputs
    for weights in layers:
        over_global = softmax_layer(weights, hidden, records_from=inputs, records=shared)
        hidden = hidden + over_global + softmax_layer(weights, hidden, recent(window))
    return hidden


def yoco(
    early: Sequence[Projections], shared: Projections, late: Sequence[Projections], window: int, inputs: Tensor
) -> Tensor:
    """Window layers, then layers over one global history."""
    hidden = inputs
    for weights in early:
        hidden = hidden + softmax_layer(weights, hidden, recent(window))
    middle = hidden
    for weights in late:
        hidden = hidden + softmax_layer(weights, hidden, records_from=middle, records=shared)
    return hidden


def latent(weights: LatentWeights, inputs: Tensor) -> Tensor:
    """Every latent expanded to keys and values for every query."""
    queries = heads_of(inputs, weights.query, weights.heads, rotated=False)
    latents = [row @ weights.latent for row in inputs]
    rows = []
    for position in range(len(inputs)):
        reads = [
            mix(
                queries[position][head],
                [latents[other] @ weights.key[head] for other in range(position + 1)],
                [latents[other] @ weights.value[head] for other in range(position + 1)],
            )
            for head in range(weights.heads)
        ]
        rows.append(torch.cat(reads) @ weights.output)
    return torch.stack(rows)


def one_vector(weights: OneVectorWeights, inputs: Tensor) -> Tensor:
    """Values turned to where the query stands, each by itself: by the distance between the two."""
    queries = heads_of(inputs, weights.query, weights.heads, rotated=False)
    plain = [row @ weights.record for row in inputs]
    rows = []
    for position in range(len(inputs)):
        reads = [
            mix(
                queries[position][head],
                [turned(plain[other], other - position) for other in range(position + 1)],
                [turned(plain[other], other - position) for other in range(position + 1)],
            )
            for head in range(weights.heads)
        ]
        rows.append(torch.cat(reads) @ weights.output)
    return torch.stack(rows)


def linear(weights: LinearWeights, inputs: Tensor) -> Tensor:
    """Scores of every pair, then weights by division."""
    queries, keys = weights.features(inputs @ weights.query), weights.features(inputs @ weights.key)
    values = inputs @ weights.value
    rows = []
    for position, query in enumerate(queries):
        scores = torch.stack([query @ keys[other] for other in range(position + 1)])
        read = sum((s * values[i] for i, s in enumerate(scores)), torch.zeros_like(values[0]))
        rows.append((read / scores.sum() if weights.normalised else read) @ weights.output)
    return torch.stack(rows)


def indexed(weights: IndexWeights, inputs: Tensor) -> Tensor:
    """Full attention, but a query sees only the records that its index scores rank highest."""

    def readable(position: int) -> Sequence[int]:
        query = inputs[position] @ weights.query
        ranked = sorted(range(position + 1), key=lambda other: -float(query @ (inputs[other] @ weights.key)))
        return sorted(ranked[: weights.most])

    return softmax_layer(weights.attention, inputs, readable)


def image_memory(text: Projections, image: Projections, vectors: Tensor, inputs: Tensor) -> Tensor:
    """Text attention, then every position reads every image vector."""
    hidden = inputs + softmax_layer(text, inputs)
    rows = []
    per_group = image.heads // image.kv_heads
    for row in hidden:
        keys = [(vector @ image.key).chunk(image.kv_heads) for vector in vectors]
        values = [(vector @ image.value).chunk(image.kv_heads) for vector in vectors]
        reads = [
            mix(query, [key[head // per_group] for key in keys], [value[head // per_group] for value in values])
            for head, query in enumerate((row @ image.query).chunk(image.heads))
        ]
        rows.append(row + torch.cat(reads) @ image.output)
    return torch.stack(rows)
