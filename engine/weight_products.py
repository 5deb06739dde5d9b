"""Rows times a weight matrix, which is nearly all of a decoder's work."""

from __future__ import annotations

import torch
from torch.nn import functional


def linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """``x`` [T, K] times the transposed ``weight`` [N, K]: [T, N]."""
    return functional.linear(x, weight)
