"""A matrix of fixed size that every token is added to (linear attention)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, Unrestorable, copied, held_bytes, matrix


@dataclass(frozen=True, slots=True)
class LinearWeights:
    """The weights of one head. ``normalised``: a vector beside the matrix makes the weights of a read sum to one."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    normalised: bool = True

    @classmethod
    def drawn(
        cls,
        generator: torch.Generator,
        *,
        dim: int,
        key_dim: int,
        value_dim: int,
        normalised: bool = True,
        dtype: torch.dtype = torch.float64,
    ) -> LinearWeights:
        """Random weights."""
        return cls(
            matrix(generator, dim, key_dim, dtype),
            matrix(generator, dim, key_dim, dtype),
            matrix(generator, dim, value_dim, dtype),
            matrix(generator, value_dim, dim, dtype),
            normalised,
        )

    def features(self, projected: Tensor) -> Tensor:
        """Queries and keys above zero, so that scores are weights without an exponential."""
        return torch.nn.functional.elu(projected) + 1


class Recurrent(LayerState):
    """S, the sum of the outer products of transformed keys and values, and z, the sum of transformed keys.

    The numbers of all tokens are mixed: no record can be left out again. A snapshot is a copy of the matrix.
    """

    def __init__(self, weights: LinearWeights) -> None:
        self.weights = weights
        self.matrix = weights.key.new_zeros(weights.key.shape[1], weights.value.shape[1])
        self.total = weights.key.new_zeros(weights.key.shape[1]) if weights.normalised else None

    def add(self, key: Tensor, value: Tensor) -> None:
        """Write one transformed key and its value. Changes the matrix in place, as kernels do."""
        self.matrix += torch.outer(key, value)
        if self.total is not None:
            self.total += key
        self.length += 1

    def subtract(self, key: Tensor, value: Tensor) -> None:
        """Undo a write whose key and value were kept: exact for real numbers, not for rounded ones."""
        self.matrix -= torch.outer(key, value)
        if self.total is not None:
            self.total -= key
        self.length -= 1

    def read(self, query: Tensor) -> Tensor:
        """The weighted sum of values for a transformed query."""
        mixed = query @ self.matrix
        return mixed if self.total is None else mixed / (query @ self.total)

    def contributions(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The transformed keys and the values of tokens."""
        w = self.weights
        return w.features(inputs @ w.key), inputs @ w.value

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        keys, values = self.contributions(inputs)
        # One product for all tokens: their order does not matter to a sum.
        self.matrix += keys.T @ values
        if self.total is not None:
            self.total += keys.sum(0)
        self.length += len(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        w = self.weights
        keys, values = self.contributions(inputs)
        queries = w.features(inputs @ w.query)
        reads = []
        for query, key, value in zip(queries, keys, values, strict=True):
            self.add(key, value)
            reads.append(self.read(query))
        return torch.stack(reads) @ w.output if reads else inputs

    def truncate(self, length: int) -> None:
        """Only to the start, or to where it is."""
        self._check_reached(length)
        if length == self.length:
            return
        if length:
            raise Unrestorable(
                f"only the matrix after token {self.length} is kept: nothing tells what it was at {length}"
            )
        self.matrix.zero_()
        if self.total is not None:
            self.total.zero_()
        self.length = 0

    def snapshot(self) -> Snapshot:
        """A copy of the matrix."""
        return Snapshot(self.length, copied(*self.kept()))

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        for mine, its in zip(self.kept(), snapshot.numbers, strict=True):
            mine.copy_(its)
        self.length = snapshot.length

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return (self.matrix,) if self.total is None else (self.matrix, self.total)

    def reads(self) -> int:
        """The matrix, whatever the number of tokens."""
        return sum(held_bytes(each) for each in self.kept())
