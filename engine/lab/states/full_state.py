"""Full history: K and V of every token, for one K/V head per query head (MHA), per group (GQA), or for all (MQA)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, held_bytes, matrix
from agentsim.engine.lab.states.rotary_positions import rotate
from agentsim.engine.lab.states.softmax_attention import attend


@dataclass(frozen=True, slots=True)
class Projections:
    """The weights of an attention layer with rotated K and plain V."""

    heads: int
    kv_heads: int
    head_dim: int
    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor

    @classmethod
    def drawn(
        cls,
        generator: torch.Generator,
        *,
        dim: int,
        heads: int,
        kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float64,
    ) -> Projections:
        """Random weights. Raises ValueError where query heads do not divide among the K/V heads."""
        if heads % kv_heads:
            raise ValueError(f"{heads} query heads cannot share {kv_heads} K/V heads in equal groups")
        return cls(
            heads,
            kv_heads,
            head_dim,
            matrix(generator, dim, heads * head_dim, dtype),
            matrix(generator, dim, kv_heads * head_dim, dtype),
            matrix(generator, dim, kv_heads * head_dim, dtype),
            matrix(generator, heads * head_dim, dim, dtype),
        )

    def queries(self, inputs: Tensor, positions: Tensor) -> Tensor:
        """Rotated queries [T, heads, head_dim]."""
        return rotate((inputs @ self.query).unflatten(-1, (self.heads, self.head_dim)), positions)

    def records(self, inputs: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotated keys and values, [T, kv_heads, head_dim] each."""
        shape = (self.kv_heads, self.head_dim)
        keys = rotate((inputs @ self.key).unflatten(-1, shape), positions)
        return keys, (inputs @ self.value).unflatten(-1, shape)


class FullHistory(LayerState):
    """Every token's K and V stay. Any earlier position is restored by leaving records out."""

    def __init__(self, weights: Projections) -> None:
        self.weights = weights
        empty = weights.key.new_zeros(0, weights.kv_heads, weights.head_dim)
        self.keys, self.values = empty, empty

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        keys, values = self.weights.records(inputs, self._next(len(inputs)))
        self.keys, self.values = torch.cat((self.keys, keys)), torch.cat((self.values, values))
        self.length += len(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        positions = self._next(len(inputs))
        self.record(inputs)
        read = attend(
            self.weights.queries(inputs, positions),
            self.keys,
            self.values,
            query_positions=positions,
            key_positions=torch.arange(self.length),
        )
        return read.flatten(1) @ self.weights.output

    def truncate(self, length: int) -> None:
        """Always possible: the records of the first ``length`` tokens are all there."""
        self._check_reached(length)
        self.keys, self.values, self.length = self.keys[:length], self.values[:length], length

    def snapshot(self) -> Snapshot:
        """Nothing needs to be kept aside."""
        return Snapshot(self.length, ())

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate(snapshot.length)

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return self.keys, self.values

    def reads(self) -> int:
        """All of it, every step."""
        return held_bytes(self.keys) + held_bytes(self.values)

    def _next(self, count: int) -> Tensor:
        return torch.arange(self.length, self.length + count)
