"""Rotary position embedding (RoPE): pairs of coordinates turn by an angle that grows with the position."""

from __future__ import annotations

import torch
from torch import Tensor


def rotate(vectors: Tensor, positions: Tensor, *, base: float = 10_000.0, inverse: bool = False) -> Tensor:
    """Turn [T, heads, dim] by their positions [T] (or back). Coordinates (0, 1), (2, 3), … are the pairs."""
    pairs = vectors.shape[-1] // 2
    speeds = base ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    angles = positions.to(torch.float64)[:, None] * speeds
    return turn(vectors, -angles if inverse else angles)


def turn(vectors: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair of coordinates of [T, heads, dim] by its angle [T, dim / 2], in radians."""
    cos, sin = (f(angles).to(vectors.dtype)[:, None, :] for f in (torch.cos, torch.sin))
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
