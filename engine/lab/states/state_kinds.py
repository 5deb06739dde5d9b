"""All kinds of state, each with random weights and its dense definition: what tests and experiments go through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states import dense_definitions as dense
from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.image_state import ImageMemory
from agentsim.engine.lab.states.indexed_state import IndexedState, IndexWeights
from agentsim.engine.lab.states.int4_state import Int4History
from agentsim.engine.lab.states.latent_state import Latent, LatentWeights
from agentsim.engine.lab.states.layer_state import LayerState
from agentsim.engine.lab.states.one_vector_state import OneVector, OneVectorWeights
from agentsim.engine.lab.states.recurrent_state import LinearWeights, Recurrent
from agentsim.engine.lab.states.shared_state import SharedGlobal
from agentsim.engine.lab.states.window_state import SlidingWindow
from agentsim.engine.lab.states.yoco_state import Yoco

DIM, HEADS, HEAD_DIM, WINDOW = 16, 4, 16, 5


@dataclass(frozen=True, slots=True)
class StateFactory:
    """A fresh state and the function it must agree with."""

    state: LayerState
    dense: Callable[[Tensor], Tensor]


def _projections(generator: torch.Generator, kv_heads: int = 2) -> Projections:
    return Projections.drawn(generator, dim=DIM, heads=HEADS, kv_heads=kv_heads, head_dim=HEAD_DIM)


def _full(kv_heads: int) -> Callable[[torch.Generator], StateFactory]:
    def make(generator: torch.Generator) -> StateFactory:
        weights = _projections(generator, kv_heads)
        return StateFactory(FullHistory(weights), lambda inputs: dense.softmax_layer(weights, inputs))

    return make


def _window(generator: torch.Generator) -> StateFactory:
    weights = _projections(generator)
    return StateFactory(
        SlidingWindow(weights, WINDOW), lambda inputs: dense.softmax_layer(weights, inputs, dense.recent(WINDOW))
    )


def _shared(generator: torch.Generator) -> StateFactory:
    shared, layers = _projections(generator), [_projections(generator) for _ in range(3)]
    return StateFactory(
        SharedGlobal(shared, layers, WINDOW), lambda inputs: dense.shared_global(shared, layers, WINDOW, inputs)
    )


def _yoco(generator: torch.Generator) -> StateFactory:
    early, late = ([_projections(generator) for _ in range(2)] for _ in range(2))
    shared = _projections(generator)
    return StateFactory(
        Yoco(early, shared, late, WINDOW), lambda inputs: dense.yoco(early, shared, late, WINDOW, inputs)
    )


def _latent(generator: torch.Generator) -> StateFactory:
    weights = LatentWeights.drawn(generator, dim=DIM, heads=HEADS, head_dim=HEAD_DIM, rank=6)
    return StateFactory(Latent(weights), lambda inputs: dense.latent(weights, inputs))


def _one_vector(generator: torch.Generator) -> StateFactory:
    weights = OneVectorWeights.drawn(generator, dim=DIM, heads=HEADS, head_dim=HEAD_DIM)
    return StateFactory(OneVector(weights), lambda inputs: dense.one_vector(weights, inputs))


def _recurrent(normalised: bool) -> Callable[[torch.Generator], StateFactory]:
    def make(generator: torch.Generator) -> StateFactory:
        weights = LinearWeights.drawn(generator, dim=DIM, key_dim=8, value_dim=12, normalised=normalised)
        return StateFactory(Recurrent(weights), lambda inputs: dense.linear(weights, inputs))

    return make


def _indexed(generator: torch.Generator) -> StateFactory:
    weights = IndexWeights.drawn(generator, _projections(generator), index_dim=4, most=3)
    return StateFactory(IndexedState(weights), lambda inputs: dense.indexed(weights, inputs))


def _image(generator: torch.Generator) -> StateFactory:
    text, image = _projections(generator), _projections(generator)
    vectors = torch.randn(4, DIM, generator=generator, dtype=torch.float64)
    return StateFactory(
        ImageMemory(text, image, vectors), lambda inputs: dense.image_memory(text, image, vectors, inputs)
    )


def _int4(generator: torch.Generator) -> StateFactory:
    weights = _projections(generator)
    return StateFactory(Int4History(weights), lambda inputs: dense.int4_layer(weights, inputs))


KINDS: dict[str, Callable[[torch.Generator], StateFactory]] = {
    "full, MHA": _full(HEADS),
    "full, GQA": _full(2),
    "full, MQA": _full(1),
    "sliding window": _window,
    "shared global + windows": _shared,
    "YOCO": _yoco,
    "latent, absorbed query": _latent,
    "one vector for K and V": _one_vector,
    "recurrent, normalised": _recurrent(True),
    "recurrent, matrix only": _recurrent(False),
    "index-selected": _indexed,
    "image by cross-attention": _image,
    "INT4": _int4,
}
"""Name and maker."""


def random_inputs(generator: torch.Generator, count: int) -> Tensor:
    """Inputs [count, dim]."""
    return torch.randn(count, DIM, generator=generator, dtype=torch.float64)
