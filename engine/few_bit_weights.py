"""Weights multiplied in the few bits that their file holds them in, by PyTorch's own kernels for a CPU.

Reading its weights is what a token takes on a CPU. A matrix that its file keeps as four-bit levels with a step and a
lowest value for every 32 numbers is handed on as these, without loss but for 16-bit steps; another is kept in eight
bits, with a step for each row. The inputs are rounded to bfloat16. Many rows at once are computed with the full
numbers, which is faster there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

GROUP = 32
"""Numbers that share a step."""

MOST_ROWS = 8
"""Rows that are multiplied by few bits; more are faster by full numbers (measured on AVX2: equal at 16)."""

_LEAST_OUTPUTS = 16
"""Outputs that the kernel takes at a time."""

_MIDDLE = 8
"""The kernel counts levels from the middle of sixteen."""


@dataclass(frozen=True, slots=True)
class FourBitLevels:
    """A matrix [N, K] as ``level · step + lowest``."""

    levels: torch.Tensor
    """uint8[N, K], 0 to 15."""
    steps: torch.Tensor
    """float32[N, K / 32]."""
    lowest: torch.Tensor
    """float32[N, K / 32]."""

    def numbers(self) -> torch.Tensor:
        """The matrix as float32."""
        steps, lowest = (part.repeat_interleave(GROUP, 1) for part in (self.steps, self.lowest))
        return self.levels * steps + lowest


class FewBits:
    """A matrix in full, with a form in few bits for few rows."""

    def __init__(self, full: torch.Tensor) -> None:
        self.full = full

    def product(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` [T, K] times the transposed matrix: [T, N]."""
        if x.shape[0] > MOST_ROWS:
            return torch.nn.functional.linear(x, self.full)
        return self._few(x.to(torch.bfloat16)).to(x.dtype)

    def _few(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class FourBits(FewBits):
    """In the levels of its file."""

    def __init__(self, full: torch.Tensor, parts: list[FourBitLevels]) -> None:
        super().__init__(full)
        levels = torch.cat([part.levels for part in parts]).to(torch.int32)
        steps, lowest = (torch.cat(each) for each in zip(*((p.steps, p.lowest) for p in parts), strict=True))
        self._levels = torch.ops.aten._convert_weight_to_int4pack_for_cpu(levels, 1)
        pairs = torch.stack((steps, lowest + _MIDDLE * steps), -1)
        self._steps = pairs.transpose(0, 1).contiguous().to(torch.bfloat16)

    def _few(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(x, self._levels, GROUP, self._steps)
        return found


class EightBits(FewBits):
    """In eight bits with a step for each row."""

    def __init__(self, full: torch.Tensor) -> None:
        super().__init__(full)
        steps = full.abs().amax(1, keepdim=True) / 127
        self._levels = (full / torch.where(steps > 0, steps, 1.0)).round().to(torch.int8)
        self._steps = steps.flatten().to(torch.bfloat16)

    def _few(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.aten._weight_int8pack_mm(x, self._levels, self._steps)
        return found


def in_few_bits(full: torch.Tensor, parts: list[FourBitLevels | None]) -> FewBits:
    """A matrix that was put together of these; those in four bits are None where the file has none for them."""
    known = [part for part in parts if part is not None]
    if len(known) == len(parts) and full.shape[0] % _LEAST_OUTPUTS == 0:
        return FourBits(full, known)
    return EightBits(full)
