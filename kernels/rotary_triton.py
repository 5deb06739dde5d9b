"""Rotary position embedding: the Triton kernel. :mod:`agentsim.kernels.rotary` defines what it computes.

A program takes a token and some of its heads. Interleaved pairs are read as they lie and parted in registers.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _rope(
    out, x, positions, cos, sin, heads, stride_xt, stride_xh,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, HEADS: tl.constexpr, INTERLEAVED: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = SIZE // 2
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    position = tl.load(positions + token).to(tl.int64)
    pairs = tl.arange(0, BLOCK // 2)
    is_pair = pairs < HALF
    c = tl.load(cos + position * HALF + pairs, mask=is_pair, other=0.0)[None, :]
    s = tl.load(sin + position * HALF + pairs, mask=is_pair, other=0.0)[None, :]
    row = x + token * stride_xt + head[:, None] * stride_xh
    row_out = out + (token * heads + head[:, None]) * SIZE
    if INTERLEAVED:
        numbers = tl.arange(0, BLOCK)
        mask = (head < heads)[:, None] & (numbers < SIZE)[None, :]
        both = tl.load(row + numbers[None, :], mask=mask, other=0.0).to(tl.float32)
        first, second = tl.split(tl.reshape(both, [HEADS, BLOCK // 2, 2]))
        turned = tl.join(first * c - second * s, second * c + first * s)
        tl.store(row_out + numbers[None, :], tl.reshape(turned, [HEADS, BLOCK]).to(out.dtype.element_ty), mask=mask)
    else:
        mask = (head < heads)[:, None] & is_pair[None, :]
        first = tl.load(row + pairs[None, :], mask=mask, other=0.0).to(tl.float32)
        second = tl.load(row + HALF + pairs[None, :], mask=mask, other=0.0).to(tl.float32)
        tl.store(row_out + pairs[None, :], (first * c - second * s).to(out.dtype.element_ty), mask=mask)
        tl.store(row_out + HALF + pairs[None, :], (second * c + first * s).to(out.dtype.element_ty), mask=mask)


def rope(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """:func:`agentsim.kernels.rotary.rope` on the device; ``cos``, ``sin`` and the numbers of a head are contiguous."""
    tokens, heads, size = x.shape
    out = torch.empty((tokens, heads, size), dtype=x.dtype, device=x.device)
    if tokens:
        together = min(8, triton.next_power_of_2(heads))
        _rope[(tokens, triton.cdiv(heads, together))](
            out, x, positions, cos, sin, heads, x.stride(0), x.stride(1),
            SIZE=size, BLOCK=triton.next_power_of_2(size), HEADS=together, INTERLEAVED=interleaved,
            num_warps=2, enable_fp_fusion=True,
        )  # fmt: skip
    return out
