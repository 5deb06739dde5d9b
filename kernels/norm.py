"""RMSNorm, alone or after the addition of a residual: the definition."""

from __future__ import annotations

from typing import overload

import torch
from torch import Tensor


@overload
def rms_norm(x: Tensor, weight: Tensor, eps: float, residual: None = None) -> Tensor: ...
@overload
def rms_norm(x: Tensor, weight: Tensor, eps: float, residual: Tensor) -> tuple[Tensor, Tensor]: ...
def rms_norm(x: Tensor, weight: Tensor, eps: float, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
    """Each row of ``x`` [T, dim] over its root mean square, times ``weight`` [dim].

    With a ``residual`` [T, dim] the row is ``residual + x``, and that sum comes back as well: ``(normed, sum)``. The
    mean is taken in float32 at least, and the result rounded once to the type of ``x``.
    """
    if residual is None:
        return _normed(x, weight, eps)
    total = residual + x
    return _normed(total, weight, eps), total


def _normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    scale = wide.square().mean(-1, keepdim=True).add_(eps).rsqrt_()
    return (wide * scale).mul_(weight).to(x.dtype)
