"""Arithmetic whose result for one row does not depend on which other rows are computed with it.

Matrix libraries choose their algorithm by the shape of the whole product, so that the same row can differ in its last
digits when it comes alone and when it comes in a batch. Here every sum runs over one contiguous stretch of fixed
length: a token then leaves behind the same bits whether its prefix was cached, recomputed, split or batched. That
costs memory for the products, so it is meant for small models, where it tells errors of bookkeeping from rounding.
"""

from __future__ import annotations

import torch

from agentsim.engine.forward_batch import Batch

TILE = 16
"""Keys are taken this many at a time, wherever pages begin: the order of additions must not depend on page size."""


def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """``x`` [T, K] times the transposed ``weight`` [N, K]: [T, N]."""
    return (x[:, None, :] * weight).sum(-1)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Each row divided by its root mean square, times ``weight``."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + eps) * weight


def rope(
    x: torch.Tensor, positions: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, interleaved: bool
) -> torch.Tensor:
    """``x`` [T, heads, head_dim] rotated to its positions, in pairs of neighbours or of halves."""
    c, s = cos[positions][:, None, :], sin[positions][:, None, :]
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * c - b * s, b * c + a * s), dim=-1).flatten(-2)
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, b * c + a * s), dim=-1)


def silu_mul(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """``gate`` times its sigmoid, times ``up``."""
    return gate / (1.0 + torch.exp(-gate)) * up


def attention(
    q: torch.Tensor,
    k_pages: torch.Tensor,
    v_pages: torch.Tensor,
    batch: Batch,
    scale: float,
    window: int | None = None,
) -> torch.Tensor:
    """Causal attention over pages; ``q`` [T, heads, head_dim], pages [pages, page_size, kv_heads, head_dim].

    Tile by tile with a running maximum, denominator and weighted sum. A tile that a row may not see changes none of
    the three, so padding leaves no trace.
    """
    starts, lengths = batch.q_starts.tolist(), batch.kv_lengths.tolist()
    group = q.shape[1] // k_pages.shape[2]
    out = torch.empty_like(q)
    for number, length in enumerate(lengths):
        first, last = starts[number], starts[number + 1]
        if first == last:
            continue
        table = batch.block_tables[number, : -(-length // k_pages.shape[1])].long()
        k = _tiles(k_pages[table].flatten(0, 1)[:length], group)
        v = _tiles(v_pages[table].flatten(0, 1)[:length], group)
        spots = torch.arange(length - (last - first), length, device=q.device)
        out[first:last] = _online(q[first:last] * scale, k, v, spots, length, window)
    return out


def _tiles(x: torch.Tensor, group: int) -> torch.Tensor:
    """[length, kv_heads, head_dim] padded with zeros to whole tiles, its heads repeated: [tiles, TILE, heads, D]."""
    missing = -x.shape[0] % TILE
    padded = torch.cat((x, x.new_zeros((missing, *x.shape[1:]))))
    return padded.view(-1, TILE, *x.shape[1:]).repeat_interleave(group, dim=2)


def _online(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, positions: torch.Tensor, length: int, window: int | None
) -> torch.Tensor:
    rows, heads, size = q.shape
    highest = q.new_full((rows, heads), float("-inf"))
    total = q.new_zeros((rows, heads))
    sums = q.new_zeros((rows, heads, size))
    for tile in range(k.shape[0]):
        spots = torch.arange(tile * TILE, (tile + 1) * TILE, device=q.device)
        seen = spots <= positions[:, None]
        if window is not None:
            seen &= spots > positions[:, None] - window
        scores = (q[:, :, None, :] * k[tile].transpose(0, 1).contiguous()).sum(-1)
        scores = scores.masked_fill(~seen[:, None, :], float("-inf"))
        new = torch.maximum(highest, scores.amax(-1))
        floor = torch.where(new == float("-inf"), torch.zeros_like(new), new)  # nothing seen yet: 0, not a NaN
        kept = torch.exp(highest - floor)
        weights = torch.exp(scores - floor[..., None])
        total = total * kept + weights.sum(-1)
        across = v[tile].permute(1, 2, 0).contiguous()  # so that the sum over keys is contiguous
        sums = sums * kept[..., None] + (weights[:, :, None, :] * across).sum(-1)
        highest = new
    return sums / total[..., None]
