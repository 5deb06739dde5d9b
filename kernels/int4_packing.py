"""Numbers in four bits: groups of neighbours share a step size and keep a level each. The definition.

A group of 16 numbers takes 8 bytes of levels and 4 of step size (float32), where bfloat16 takes 32. The step is the
group's largest magnitude over 7, so that levels are -7 … 7 and zero stays exactly zero; a value comes back as
``level · step``, at most half a step off.

A byte holds the levels, each plus 8, of number j (low half) and of number j + D/2 (high half): a kernel that reads
both halves gets two runs of neighbours, with no shuffling between them.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 16
"""Numbers that share one step size."""

LEVELS = 7
"""The largest level; the smallest is its negative."""

OFFSET = 8
"""Added to a level in storage."""


def pack_int4(x: Tensor, group: int = GROUP) -> tuple[Tensor, Tensor]:
    """Levels and step sizes of ``x`` [..., D]: ``(uint8 [..., D/2], float32 [..., D/group])``.

    D is a multiple of ``group`` and even; ValueError otherwise. Numbers must be finite.
    """
    size = x.shape[-1]
    if size % group or size % 2:
        raise ValueError(f"{size} numbers in a row are not an even number of them in groups of {group}")
    grouped = x.to(torch.float32).reshape(*x.shape[:-1], size // group, group)
    steps = grouped.abs().amax(-1) / LEVELS
    # A group of zeros has step 0: divided by one instead, its levels are 0 as they should be.
    divisors = torch.where(steps > 0, steps, 1.0).unsqueeze(-1)
    levels = (
        (grouped / divisors).round().clamp(-LEVELS, LEVELS).flatten(-2).to(torch.int8).add_(OFFSET).view(torch.uint8)
    )
    packed = levels[..., : size // 2] | levels[..., size // 2 :] << 4
    return packed, steps


def unpack_int4(packed: Tensor, scales: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers that were packed, each within half a step: ``dtype`` [..., D]."""
    size = 2 * packed.shape[-1]
    levels = torch.cat((packed & 15, packed >> 4), -1).to(torch.float32).sub_(OFFSET)
    steps = scales.repeat_interleave(size // scales.shape[-1], -1)
    return levels.mul_(steps).to(dtype)
