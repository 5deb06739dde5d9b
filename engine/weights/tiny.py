"""A decoder small enough to check by eye and fast enough for thousands of runs: three layers, from a seed."""

from __future__ import annotations

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.weights.weights import Weights, expected_shapes, identity_of

TINY = ModelConfig(
    name="tiny",
    layers=3,
    dim=32,
    heads=4,
    kv_heads=2,
    head_dim=8,
    ffn=64,
    vocab=256,
    rope_base=10_000.0,
    rope_interleaved=False,
    norm_eps=1e-5,
    tied=False,
    context=4_096,
    eos=(0,),
)
"""Four query heads that share two key heads of eight numbers; 256 tokens, so that bytes can stand for text."""


def tiny_weights(seed: int = 38, config: ModelConfig = TINY) -> Weights:
    """Weights drawn evenly around zero with a seed.

    In float64, and with a uniform distribution because that takes no logarithm or cosine, whose last digits differ
    between machines: the same seed gives the same numbers everywhere. The spread is one over the square root of the
    inputs, except for the output layer, whose rows are larger so that the scores of different tokens differ clearly.
    """
    source = torch.Generator().manual_seed(seed)
    tensors: dict[str, torch.Tensor] = {}
    for name, shape in expected_shapes(config).items():
        drawn = (torch.rand(shape, dtype=torch.float64, generator=source) - 0.5) * 12**0.5  # mean 0, variance 1
        if len(shape) == 1:
            tensors[name] = 1.0 + 0.1 * drawn
        elif name == "embed":
            tensors[name] = drawn
        else:
            spread = 3.0 if name == "head" else 1.0
            tensors[name] = drawn * (spread / shape[1] ** 0.5)
    numbers = [tensor.numpy().tobytes() for tensor in tensors.values()]
    return Weights(config, tensors, identity_of(config, *numbers))
