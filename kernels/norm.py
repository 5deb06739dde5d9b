"""RMSNorm, alone or after the addition of a residual: the definition."""

from __future__ import annotations

from typing import overload

from torch import Tensor
from torch.nn.functional import rms_norm as torch_rms_norm


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
        return torch_rms_norm(x, weight.shape, weight, eps)
    total = residual + x
    return torch_rms_norm(total, weight.shape, weight, eps), total
