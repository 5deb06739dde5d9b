"""Rows times a weight matrix, which is nearly all of a decoder's work."""

from __future__ import annotations

import torch
from torch.nn import functional

from agentsim.engine.few_bit_weights import FewBits


def linear(x: torch.Tensor, weight: torch.Tensor | FewBits) -> torch.Tensor:
    """``x`` [T, K] times the transposed ``weight`` [N, K]: [T, N]."""
    return weight.product(x) if isinstance(weight, FewBits) else functional.linear(x, weight)
