"""The levels of matrices that a GGUF file keeps in four bits, as they stand there."""

from __future__ import annotations

import torch

from agentsim.engine.few_bit_weights import GROUP, FourBitLevels

Q4_0, Q4_1 = 2, 3
"""Of ``gguf.GGMLQuantizationType``."""

_STEP = 2
_HALF = GROUP // 2


def four_bit_levels(raw: memoryview, kind: int, shape: tuple[int, ...]) -> FourBitLevels | None:
    """The levels of a matrix; None for other formats. A block of 32 numbers is a step, in Q4_1 the lowest value, and 16
    bytes: number i in the low half of byte i, number i + 16 in the high one."""
    if kind not in (Q4_0, Q4_1) or len(shape) != 2:
        return None
    head = _STEP if kind == Q4_0 else 2 * _STEP
    blocks = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, head + _HALF)
    heads = blocks[:, :head].contiguous().view(torch.float16).float().view(shape[0], -1, head // _STEP)
    packed = blocks[:, head:]
    levels = torch.cat((packed & 15, packed >> 4), 1).view(shape)
    steps = heads[..., 0].contiguous()
    lowest = -8 * steps if kind == Q4_0 else heads[..., 1].contiguous()
    return FourBitLevels(levels, steps, lowest)
