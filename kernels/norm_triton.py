"""RMSNorm: the Triton kernel. :mod:`agentsim.kernels.norm` defines what it computes.

A program takes a row and holds all of it, so that each number is read once and written once, the residual's sum beside.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _rms_norm(
    out, total, x, residual, weight, eps, stride_x, stride_residual,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, HAS_RESIDUAL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    numbers = tl.arange(0, BLOCK)
    mask = numbers < SIZE
    values = tl.load(x + row * stride_x + numbers, mask=mask, other=0.0)
    if HAS_RESIDUAL:
        added = tl.load(residual + row * stride_residual + numbers, mask=mask, other=0.0)
        # Rounded as the sum is stored: the norm is that of what the next layer reads.
        values = (values.to(tl.float32) + added.to(tl.float32)).to(total.dtype.element_ty)
        tl.store(total + row * SIZE + numbers, values, mask=mask)
    wide = values.to(tl.float32)
    mean = tl.sum(wide * wide, 0) / SIZE
    factors = tl.load(weight + numbers, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * SIZE + numbers, (wide * tl.rsqrt(mean + eps) * factors).to(out.dtype.element_ty), mask=mask)


def rms_norm(x: Tensor, weight: Tensor, eps: float, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """:func:`agentsim.kernels.norm.rms_norm` on the device; rows may lie apart, the numbers of a row not."""
    rows, size = x.shape
    out = torch.empty((rows, size), dtype=x.dtype, device=x.device)
    total = out if residual is None else torch.empty_like(out)
    if rows:
        block = triton.next_power_of_2(size)
        _rms_norm[(rows,)](
            out, total, x, x if residual is None else residual, weight, eps,
            x.stride(0), x.stride(0) if residual is None else residual.stride(0),
            SIZE=size, BLOCK=block, HAS_RESIDUAL=residual is not None,
            num_warps=warps_for(block), enable_fp_fusion=True,
        )  # fmt: skip
    return out if residual is None else (out, total)


def warps_for(block: int) -> int:
    """Warps for a row of so many numbers: sixteen or fewer numbers for each thread, as far as there are warps."""
    return min(32, max(1, block // 512))
