"""One rotated vector per token that is key and value at once; what was read is turned back at the query's position."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, held_bytes, matrix
from agentsim.engine.lab.states.rotary_positions import rotate
from agentsim.engine.lab.states.softmax_attention import attend


@dataclass(frozen=True, slots=True)
class OneVectorWeights:
    """The weights of a layer whose K and V are the same vector, shared by all heads."""

    heads: int
    head_dim: int
    query: Tensor
    record: Tensor
    output: Tensor

    @classmethod
    def drawn(
        cls, generator: torch.Generator, *, dim: int, heads: int, head_dim: int, dtype: torch.dtype = torch.float64
    ) -> OneVectorWeights:
        """Random weights."""
        return cls(
            heads,
            head_dim,
            matrix(generator, dim, heads * head_dim, dtype),
            matrix(generator, dim, head_dim, dtype),
            matrix(generator, heads * head_dim, dim, dtype),
        )


class OneVector(LayerState):
    """One vector per token, rotated by its position before it is stored, and never turned back in the cache."""

    def __init__(self, weights: OneVectorWeights) -> None:
        self.weights = weights
        self.records = weights.record.new_zeros(0, 1, weights.head_dim)

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        positions = torch.arange(self.length, self.length + len(inputs))
        self.records = torch.cat((self.records, rotate((inputs @ self.weights.record)[:, None], positions)))
        self.length += len(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        w = self.weights
        positions = torch.arange(self.length, self.length + len(inputs))
        self.record(inputs)
        read = attend(
            rotate((inputs @ w.query).unflatten(-1, (w.heads, w.head_dim)), positions),
            self.records,
            self.records,
            query_positions=positions,
            key_positions=torch.arange(self.length),
        )
        # The values carry rotation too: once for the sum instead of once for each record of it.
        return rotate(read, positions, inverse=True).flatten(1) @ w.output

    def truncate(self, length: int) -> None:
        """Always possible."""
        self._check_reached(length)
        self.records, self.length = self.records[:length], length

    def snapshot(self) -> Snapshot:
        """Nothing needs to be kept aside."""
        return Snapshot(self.length, ())

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate(snapshot.length)

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return (self.records,)

    def reads(self) -> int:
        """Every record once."""
        return held_bytes(self.records)
