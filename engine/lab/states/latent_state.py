"""A latent: one short vector per token, from which K and V follow linearly. The query is transformed instead."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agentsim.engine.lab.states.layer_state import LayerState, Snapshot, held_bytes, matrix


@dataclass(frozen=True, slots=True)
class LatentWeights:
    """K = c · ``key`` and V = c · ``value`` for each head, with c the latent of a token. No rotation in between: it
    could not be moved to the query side."""

    heads: int
    head_dim: int
    query: Tensor
    latent: Tensor
    key: Tensor
    """[heads, rank, head_dim]"""
    value: Tensor
    """[heads, rank, head_dim]"""
    output: Tensor

    @classmethod
    def drawn(
        cls,
        generator: torch.Generator,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        rank: int,
        dtype: torch.dtype = torch.float64,
    ) -> LatentWeights:
        """Random weights."""
        up = [torch.stack([matrix(generator, rank, head_dim, dtype) for _ in range(heads)]) for _ in range(2)]
        return cls(
            heads,
            head_dim,
            matrix(generator, dim, heads * head_dim, dtype),
            matrix(generator, dim, rank, dtype),
            up[0],
            up[1],
            matrix(generator, heads * head_dim, dim, dtype),
        )


def absorb(queries: Tensor, key: Tensor) -> Tensor:
    """Queries [T, heads, head_dim] that score latents directly, [T, heads, rank]: the key's expansion, moved over."""
    return torch.einsum("thd,hrd->thr", queries, key)


class Latent(LayerState):
    """One latent per token, for all heads. History is never expanded: neither its keys nor its values."""

    def __init__(self, weights: LatentWeights) -> None:
        self.weights = weights
        self.latents = weights.latent.new_zeros(0, weights.latent.shape[1])

    def record(self, inputs: Tensor) -> None:
        """See :meth:`LayerState.record`."""
        self.latents = torch.cat((self.latents, inputs @ self.weights.latent))
        self.length += len(inputs)

    def append(self, inputs: Tensor) -> Tensor:
        """See :meth:`LayerState.append`."""
        w = self.weights
        positions = torch.arange(self.length, self.length + len(inputs))
        self.record(inputs)
        queries = absorb((inputs @ w.query).unflatten(-1, (w.heads, w.head_dim)), w.key)
        scores = torch.einsum("thr,sr->hts", queries, self.latents) / w.head_dim**0.5
        scores = scores.masked_fill(positions[:, None] < torch.arange(self.length)[None, :], float("-inf"))
        mixed = torch.einsum("hts,sr->thr", torch.softmax(scores, -1), self.latents)
        return torch.einsum("thr,hrd->thd", mixed, w.value).flatten(1) @ w.output

    def truncate(self, length: int) -> None:
        """Always possible."""
        self._check_reached(length)
        self.latents, self.length = self.latents[:length], length

    def snapshot(self) -> Snapshot:
        """Nothing needs to be kept aside."""
        return Snapshot(self.length, ())

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`LayerState.restore`."""
        self.truncate(snapshot.length)

    def kept(self) -> tuple[Tensor, ...]:
        """See :meth:`LayerState.kept`."""
        return (self.latents,)

    def reads(self) -> int:
        """All latents, once for all heads: they are keys and values at the same time."""
        return held_bytes(self.latents)
