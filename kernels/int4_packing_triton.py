"""Packing to four bits and back: the Triton kernels. :mod:`agentsim.kernels.int4_packing` defines the format."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from agentsim.kernels.int4_packing import GROUP
from agentsim.kernels.int4_packing import pack_int4 as pack_by_reference
from agentsim.kernels.int4_packing import unpack_int4 as unpack_by_reference

ROWS = 16

# 1.5 · 2²³: a float32 below 2²² plus this, minus this, is rounded to the nearest whole number, ties to even.
ROUNDING = tl.constexpr(12582912.0)


@triton.jit
def _levels(
    x, scales, row, mask_row, stride, first_group, NUMBERS: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr
):
    """Levels + 8 of a run of groups of each row, whose step sizes are stored on the way."""
    groups = tl.arange(0, NUMBERS // GROUP)
    at = first_group * GROUP + groups[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    is_group = groups < GROUPS // 2
    mask = mask_row[:, None, None] & is_group[None, :, None]
    values = tl.load(x + row[:, None, None] * stride + at[None, :, :], mask=mask, other=0.0).to(tl.float32)
    steps = tl.div_rn(tl.max(tl.abs(values), 2), 7.0)
    tl.store(
        scales + row[:, None] * GROUPS + first_group + groups[None, :],
        steps,
        mask=mask_row[:, None] & is_group[None, :],
    )
    divisors = tl.where(steps > 0, steps, 1.0)[:, :, None]
    level = tl.div_rn(values, tl.broadcast_to(divisors, values.shape)) + ROUNDING - ROUNDING
    level = tl.minimum(tl.maximum(level, -7.0), 7.0) + 8.0
    return level.to(tl.uint8)


@triton.jit
def _pack(
    packed, scales, x, rows, stride, HALF: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr
):
    GROUPS: tl.constexpr = 2 * HALF // GROUP
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    mask_row = row < rows
    low = _levels(x, scales, row, mask_row, stride, 0, BLOCK, GROUP, GROUPS)
    high = _levels(x, scales, row, mask_row, stride, GROUPS // 2, BLOCK, GROUP, GROUPS)
    both = tl.reshape(low | (high << 4), [ROWS, BLOCK])
    numbers = tl.arange(0, BLOCK)
    tl.store(packed + row[:, None] * HALF + numbers[None, :], both, mask=mask_row[:, None] & (numbers < HALF)[None, :])


@triton.jit
def _unpack(
    out, packed, scales, rows, HALF: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr
):
    GROUPS: tl.constexpr = 2 * HALF // GROUP
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    numbers = tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (numbers < HALF)[None, :]
    both = tl.load(packed + row[:, None] * HALF + numbers[None, :], mask=mask, other=0)
    at = scales + row[:, None] * GROUPS + (numbers // GROUP)[None, :]
    low = ((both & 15).to(tl.float32) - 8.0) * tl.load(at, mask=mask, other=0.0)
    high = ((both >> 4).to(tl.float32) - 8.0) * tl.load(at + GROUPS // 2, mask=mask, other=0.0)
    at_out = out + row[:, None] * (2 * HALF) + numbers[None, :]
    tl.store(at_out, low.to(out.dtype.element_ty), mask=mask)
    tl.store(at_out + HALF, high.to(out.dtype.element_ty), mask=mask)


def fits(size: int, group: int) -> bool:
    """Whether the kernels take such rows: each half of a row is made of whole groups, of a power of two of numbers."""
    return size % (2 * group) == 0 and group & (group - 1) == 0


def pack_int4(x: Tensor, group: int = GROUP) -> tuple[Tensor, Tensor]:
    """:func:`agentsim.kernels.int4_packing.pack_int4` on the device; rows that the kernel doesn't take go to the
    reference."""
    size = x.shape[-1]
    if not fits(size, group):
        return pack_by_reference(x, group)
    lines = x.reshape(-1, size)
    packed = torch.empty((*x.shape[:-1], size // 2), dtype=torch.uint8, device=x.device)
    scales = torch.empty((*x.shape[:-1], size // group), dtype=torch.float32, device=x.device)
    if lines.shape[0]:
        _pack[(triton.cdiv(lines.shape[0], ROWS),)](
            packed, scales, lines, lines.shape[0], lines.stride(0),
            HALF=size // 2, BLOCK=triton.next_power_of_2(size // 2), GROUP=group, ROWS=ROWS,
            num_warps=4, enable_fp_fusion=True,
        )  # fmt: skip
    return packed, scales


def unpack_int4(packed: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    """:func:`agentsim.kernels.int4_packing.unpack_int4` on the device; rows that the kernel doesn't take go to the
    reference."""
    half = packed.shape[-1]
    group = 2 * half // scales.shape[-1]
    if not fits(2 * half, group) or dtype == torch.float64:
        return unpack_by_reference(packed, scales, dtype)
    out = torch.empty((*packed.shape[:-1], 2 * half), dtype=dtype, device=packed.device)
    rows = out.numel() // (2 * half)
    if rows:
        _unpack[(triton.cdiv(rows, ROWS),)](
            out, packed.contiguous(), scales.contiguous(), rows,
            HALF=half, BLOCK=triton.next_power_of_2(half), GROUP=group, ROWS=ROWS,
            num_warps=4, enable_fp_fusion=True,
        )  # fmt: skip
    return out
