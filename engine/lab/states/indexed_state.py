"""Sparse reading: short index vectors choose which records main attention reads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states.full_state import FullHistory, Projections
from agentsim.engine.lab.states.layer_state import held_bytes, matrix


@dataclass(frozen=True, slots=True)
class IndexWeights:
    """An indexer beside an attention layer: its queries and keys are short, and it reads ``most`` records."""

    attention: Projections
    query: Tensor
    key: Tensor
    most: int

    @classmethod
    def drawn(cls, generator: torch.Generator, attention: Projections, *, index_dim: int, most: int) -> IndexWeights:
        """Random weights."""
        dim, dtype = attention.query.shape[0], attention.query.dtype
        return cls(attention, matrix(generator, dim, index_dim, dtype), matrix(generator, dim, index_dim, dtype), most)


class IndexedState(FullHistory):
    """Every token's K and V and a short index key. A step scores all index keys and reads few records.

    Records that are not chosen stay: another query may choose them.
    """

    def __init__(self, weights: IndexWeights) -> None:
        super().__init__(weights.attention)
        self.index = weights
        self.index_keys = weights.key.new_zeros(0, weights.key.shape[1])

    def record(self, inputs: Tensor) -> None:
        """See :meth:`State.record`."""
        self.index_keys = torch.cat((self.index_keys, inputs @ self.index.key))
        super().record(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`State.append`."""
        positions = self._next(len(inputs))
        self.record(inputs)
        queries = self.weights.queries(inputs, positions)
        repeat = self.weights.heads // self.weights.kv_heads
        outputs = []
        for row, position in enumerate(positions.tolist()):
            chosen = self.choose(inputs[row], position + 1)
            keys = self.keys[chosen].repeat_interleave(repeat, 1)
            values = self.values[chosen].repeat_interleave(repeat, 1)
            scores = torch.einsum("hd,shd->hs", queries[row], keys) / self.weights.head_dim**0.5
            outputs.append(torch.einsum("hs,shd->hd", torch.softmax(scores, -1), values))
        return torch.stack(outputs).flatten(1) @ self.weights.output if outputs else inputs

    def choose(self, one_input: Tensor, visible: int) -> Tensor:
        """Which of the first ``visible`` records the query of an input reads, by the highest index scores."""
        scores = self.index_keys[:visible] @ (one_input @ self.index.query)
        return torch.topk(scores, min(self.index.most, visible)).indices.sort().values

    def truncate(self, length: int) -> None:
        """Always possible."""
        super().truncate(length)
        self.index_keys = self.index_keys[:length]

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`State.kept`."""
        return self.keys, self.values, self.index_keys

    def reads(self) -> int:
        """All index keys, and the K and V of the chosen few."""
        chosen = min(self.index.most, self.length)
        return held_bytes(self.index_keys) + held_bytes(self.keys[:chosen]) + held_bytes(self.values[:chosen])
