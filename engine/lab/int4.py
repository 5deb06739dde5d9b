"""A teaching format of four bits: groups of numbers share a step of four bytes.

Two levels go in a byte. This is not the engine's format (which keeps steps in two bytes) nor that of any device.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 16
LEVELS = 7
"""Levels run from -7 to 7: the same steps on both sides of zero."""


def pack(numbers: Tensor, group: int = GROUP) -> tuple[Tensor, Tensor]:
    """Levels, two in a byte [..., D / 2], and steps [..., D / group] in float32. D is a multiple of ``group``."""
    if numbers.shape[-1] % group or group % 2:
        raise ValueError(f"{numbers.shape[-1]} numbers do not make groups of {group}")
    grouped = numbers.to(torch.float32).unflatten(-1, (-1, group))
    steps = grouped.abs().amax(-1) / LEVELS
    # A group of zeros has no step; any other gives level 0.
    levels = quantized(grouped, torch.where(steps > 0, steps, torch.ones_like(steps))[..., None]).flatten(-2)
    stored = (levels + 8).to(torch.uint8)
    return stored[..., 0::2] | (stored[..., 1::2] << 4), steps


def unpack(packed: Tensor, steps: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers that levels and steps stand for, [..., D]."""
    levels = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2).to(torch.float32) - 8
    return (levels.unflatten(-1, (steps.shape[-1], -1)) * steps[..., None]).flatten(-2).to(dtype)


def quantized(numbers: Tensor, step: Tensor | float) -> Tensor:
    """The nearest level of each number."""
    return torch.clamp(torch.round(numbers / step), -LEVELS, LEVELS)
