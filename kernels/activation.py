"""SiLU·mul, the gate of a Llama feed-forward layer: the definition."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import silu


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """``gate · sigmoid(gate) · up``, number by number.

    Both arguments have the same shape and type; so has the result, which is new.
    """
    return silu(gate).mul_(up)
