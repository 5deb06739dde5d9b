"""The next token from its logits: the Triton kernel. :mod:`agentsim.kernels.sampling` defines what it computes.

A program takes a row. Each lane keeps the largest logit that it met and where, first come first kept; where the row
has a temperature, the vocabulary is walked twice more, for the denominator and to the token that reaches the noise.
Exponentials are taken in float32 and added up in float64, so a token differs from the reference's only where the noise
lies within rounding of the border between two.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _sample(out, logits, temperatures, noise, size, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    line = logits + row * stride
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    place = lanes
    for start in range(0, size, BLOCK):
        at = start + lanes
        value = tl.load(line + at, mask=at < size, other=float("-inf")).to(tl.float32)
        is_higher = value > best
        best = tl.where(is_higher, value, best)
        place = tl.where(is_higher, at, place)
    top = tl.max(best, 0)
    token = tl.min(tl.where(best == top, place, size), 0)
    temperature = tl.load(temperatures + row).to(tl.float32)
    if temperature > 0:
        total = tl.zeros([BLOCK], tl.float64)
        for start in range(0, size, BLOCK):
            at = start + lanes
            value = tl.load(line + at, mask=at < size, other=float("-inf")).to(tl.float32)
            total += tl.exp((value - top) / temperature).to(tl.float64)
        threshold = tl.load(noise + row).to(tl.float64) * tl.sum(total, 0)
        passed = tl.full([], 0.0, tl.float64)
        start = tl.full([], 0, tl.int32)
        token = size + tl.full([], 0, tl.int32)
        while (token == size) & (start < size):
            at = start + lanes
            value = tl.load(line + at, mask=at < size, other=float("-inf")).to(tl.float32)
            part = tl.exp((value - top) / temperature).to(tl.float64)
            reached = passed + tl.cumsum(part, 0)
            token = tl.min(tl.where((reached > threshold) & (at < size), at, size), 0)
            passed += tl.sum(part, 0)
            start += BLOCK
        token = tl.minimum(token, size - 1)
    tl.store(out + row, token.to(tl.int64))


def sample(logits: Tensor, temperatures: Tensor, noise: Tensor | None = None) -> Tensor:
    """:func:`agentsim.kernels.sampling.sample` on the device; without noise temperatures are not looked at: all are
    0."""
    rows, size = logits.shape
    out = torch.empty(rows, dtype=torch.int64, device=logits.device)
    if noise is None:
        temperatures = torch.zeros(rows, dtype=torch.float32, device=logits.device)
    if rows:
        _sample[(rows,)](
            out, logits, temperatures, temperatures if noise is None else noise, size, logits.stride(0),
            BLOCK=min(BLOCK, triton.next_power_of_2(size)), num_warps=4, enable_fp_fusion=True,
        )  # fmt: skip
    return out
