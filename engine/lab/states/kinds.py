"""All kinds of state, each with random weights and its dense definition: what tests and experiments go through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.lab.states import dense
from engine.lab.states.full import FullHistory, Projections
from engine.lab.states.image import ImageMemory
from engine.lab.states.indexed import Indexed, IndexWeights
from engine.lab.states.int4 import Int4History
from engine.lab.states.latent import Latent, LatentWeights
from engine.lab.states.one_vector import OneVector, OneVectorWeights
from engine.lab.states.recurrent import LinearWeights, Recurrent
from engine.lab.states.shared import SharedGlobal
from engine.lab.states.state import State
from engine.lab.states.window import SlidingWindow
from engine.lab.states.yoco import Yoco

DIM, HEADS, HEAD_DIM, WINDOW = 16, 4, 16, 5


@dataclass(frozen=True, slots=True)
class Made:
    """A fresh state and the function it must agree with."""

    state: State
    dense: Callable[[Tensor], Tensor]


def _projections(generator: torch.Generator, kv_heads: int = 2) -> Projections:
    return Projections.drawn(generator, dim=DIM, heads=HEADS, kv_heads=kv_heads, head_dim=HEAD_DIM)


def _full(kv_heads: int) -> Callable[[torch.Generator], Made]:
    def make(generator: torch.Generator) -> Made:
        weights = _projections(generator, kv_heads)
        return Made(FullHistory(weights), lambda inputs: dense.softmax_layer(weights, inputs))

    return make


def _window(generator: torch.Generator) -> Made:
    weights = _projections(generator)
    return Made(
        SlidingWindow(weights, WINDOW), lambda inputs: dense.softmax_layer(weights, inputs, dense.recent(WINDOW))
    )


def _shared(generator: torch.Generator) -> Made:
    shared, layers = _projections(generator), [_projections(generator) for _ in range(3)]
    return Made(
        SharedGlobal(shared, layers, WINDOW), lambda inputs: dense.shared_global(shared, layers, WINDOW, inputs)
    )


def _yoco(generator: torch.Generator) -> Made:
    early, late = ([_projections(generator) for _ in range(2)] for _ in range(2))
    shared = _projections(generator)
    return Made(Yoco(early, shared, late, WINDOW), lambda inputs: dense.yoco(early, shared, late, WINDOW, inputs))


def _latent(generator: torch.Generator) -> Made:
    weights = LatentWeights.drawn(generator, dim=DIM, heads=HEADS, head_dim=HEAD_DIM, rank=6)
    return Made(Latent(weights), lambda inputs: dense.latent(weights, inputs))


def _one_vector(generator: torch.Generator) -> Made:
    weights = OneVectorWeights.drawn(generator, dim=DIM, heads=HEADS, head_dim=HEAD_DIM)
    return Made(OneVector(weights), lambda inputs: dense.one_vector(weights, inputs))


def _recurrent(normalised: bool) -> Callable[[torch.Generator], Made]:
    def make(generator: torch.Generator) -> Made:
        weights = LinearWeights.drawn(generator, dim=DIM, key_dim=8, value_dim=12, normalised=normalised)
        return Made(Recurrent(weights), lambda inputs: dense.linear(weights, inputs))

    return make


def _indexed(generator: torch.Generator) -> Made:
    weights = IndexWeights.drawn(generator, _projections(generator), index_dim=4, most=3)
    return Made(Indexed(weights), lambda inputs: dense.indexed(weights, inputs))


def _image(generator: torch.Generator) -> Made:
    text, image = _projections(generator), _projections(generator)
    vectors = torch.randn(4, DIM, generator=generator, dtype=torch.float64)
    return Made(ImageMemory(text, image, vectors), lambda inputs: dense.image_memory(text, image, vectors, inputs))


def _int4(generator: torch.Generator) -> Made:
    weights = _projections(generator)
    return Made(Int4History(weights), lambda inputs: dense.int4_layer(weights, inputs))


KINDS: dict[str, Callable[[torch.Generator], Made]] = {
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
