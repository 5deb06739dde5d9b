"""SiLU·mul: the Triton kernel. :mod:`agentsim.kernels.activation` defines what it computes."""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _silu_mul(out, gate, up, size, stride_gate, stride_up, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    numbers = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = numbers < size
    g = tl.load(gate + row * stride_gate + numbers, mask=mask, other=0.0).to(tl.float32)
    u = tl.load(up + row * stride_up + numbers, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * size + numbers, (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), mask=mask)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """:func:`agentsim.kernels.activation.silu_mul` on the device; rows may lie apart (halves of one product), numbers
    not."""
    rows, size = gate.shape
    out = torch.empty((rows, size), dtype=gate.dtype, device=gate.device)
    if rows:
        _silu_mul[(rows, triton.cdiv(size, BLOCK))](
            out, gate, up, size, gate.stride(0), up.stride(0), BLOCK=BLOCK, num_warps=4, enable_fp_fusion=True
        )
    return out
