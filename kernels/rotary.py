"""Rotary position embedding of queries and keys: the definition."""

from __future__ import annotations

import torch
from torch import Tensor


def rope(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """Turn the pairs of each head of ``x`` [T, H, D] by the angles of its token's position.

    ``positions`` [T] are rows of ``cos`` and ``sin`` [positions, D/2]. A pair is numbers 2i and 2i+1 when
    ``interleaved`` (the layout of GGUF files of Llama models), else numbers i and i + D/2 (the layout of Hugging Face).
    Computed in the type of ``cos`` at least; the result is new and has the type of ``x``.
    """
    half = x.shape[-1] // 2
    c = cos.index_select(0, positions).unsqueeze(1)
    s = sin.index_select(0, positions).unsqueeze(1)
    if interleaved:
        first, second = x[..., 0::2], x[..., 1::2]
    else:
        first, second = x[..., :half], x[..., half:]
    turned = torch.empty_like(x, memory_format=torch.contiguous_format)
    if interleaved:
        out_first, out_second = turned[..., 0::2], turned[..., 1::2]
    else:
        out_first, out_second = turned[..., :half], turned[..., half:]
    out_first.copy_((first * c).sub_(second * s))
    out_second.copy_((second * c).add_(first * s))
    return turned
