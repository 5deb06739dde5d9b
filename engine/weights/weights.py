"""Weights under the names the engine uses, whatever file they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch

from agentsim.engine.decoder_config import ModelConfig
from agentsim.engine.few_bit_weights import FourBitLevels
from agentsim.engine.weights.weights_error import WeightsError

__all__ = ["LazyTensors", "Weights", "WeightsError", "expected_shapes", "identity_of"]


@dataclass(frozen=True)
class Weights:
    """A model's numbers: its configuration, its tensors by name, and the identity of both.

    Names: ``embed``, ``norm``, ``head`` (absent when tied), and for each layer ``layers.N.`` followed by
    ``attn_norm``, ``q``, ``k``, ``v``, ``o``, ``ffn_norm``, ``gate``, ``up``, ``down``. Matrices are
    [outputs, inputs]. ``identity`` is equal only for equal numbers used in the same way: keys and values computed
    under one identity must never be read under another.
    """

    config: ModelConfig
    tensors: Mapping[str, torch.Tensor]
    identity: bytes
    levels: Mapping[str, Callable[[], FourBitLevels | None]] = field(default_factory=dict)
    """By name, what reads a matrix as the four-bit levels of its file."""


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The tensors a model of this configuration consists of, with their shapes."""
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {"embed": (config.vocab, config.dim), "norm": (config.dim,)}
    if not config.tied:
        shapes["head"] = (config.vocab, config.dim)
    for layer in range(config.layers):
        at = f"layers.{layer}."
        shapes[at + "attn_norm"] = shapes[at + "ffn_norm"] = (config.dim,)
        shapes[at + "q"] = (queries, config.dim)
        shapes[at + "k"] = shapes[at + "v"] = (keys, config.dim)
        shapes[at + "o"] = (config.dim, queries)
        shapes[at + "gate"] = shapes[at + "up"] = (config.ffn, config.dim)
        shapes[at + "down"] = (config.dim, config.ffn)
    return shapes


class LazyTensors(Mapping[str, torch.Tensor]):
    """Tensors that are read from their file when asked for, so that a model is not held in memory twice."""

    def __init__(self, readers: Mapping[str, Callable[[], torch.Tensor]]) -> None:
        self._readers = readers

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._readers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


def identity_of(config: ModelConfig, *parts: bytes | memoryview) -> bytes:
    """A digest of the configuration and of the parts that hold the numbers; 32 bytes."""
    digest = hashlib.blake2b(digest_size=32, person=b"weights")
    digest.update(repr(config).encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
