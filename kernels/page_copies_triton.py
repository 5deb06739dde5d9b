"""Writes into pages and copies of pages: the Triton kernels. :mod:`agentsim.kernels.page_copies` defines what they
do."""

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _write_pages(
    k_pages, v_pages, k, v, slots,
    stride_kt, stride_kh, stride_vt, stride_vh, stride_kp, stride_ko, stride_ks, stride_vp, stride_vo, stride_vs,
    PAGE: tl.constexpr, HEADS: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)
    if slot < 0:
        return
    numbers = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = numbers < HEADS * SIZE
    head = numbers // SIZE
    number = numbers % SIZE
    page = slot // PAGE
    offset = slot % PAGE
    key = tl.load(k + token * stride_kt + head * stride_kh + number, mask=mask)
    value = tl.load(v + token * stride_vt + head * stride_vh + number, mask=mask)
    tl.store(k_pages + page * stride_kp + offset * stride_ko + head * stride_ks + number, key, mask=mask)
    tl.store(v_pages + page * stride_vp + offset * stride_vo + head * stride_vs + number, value, mask=mask)


def write_pages(k: Tensor, v: Tensor, k_pages: Tensor, v_pages: Tensor, slots: Tensor) -> None:
    """:func:`agentsim.kernels.page_copies.write_pages` on the device; the numbers of a head are neighbours
    everywhere."""
    tokens, heads, size = k.shape
    if tokens == 0:
        return
    block = min(BLOCK, triton.next_power_of_2(heads * size))
    _write_pages[(tokens, triton.cdiv(heads * size, block))](
        k_pages, v_pages, k, v, slots,
        k.stride(0), k.stride(1), v.stride(0), v.stride(1), *k_pages.stride()[:3], *v_pages.stride()[:3],
        PAGE=k_pages.shape[1], HEADS=heads, SIZE=size, BLOCK=block, num_warps=4, enable_fp_fusion=True,
    )  # fmt: skip


@triton.jit
def _copy_pages(pages, source, target, size, stride, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    numbers = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = numbers < size
    read = tl.load(pages + tl.load(source + pair).to(tl.int64) * stride + numbers, mask=mask)
    tl.store(pages + tl.load(target + pair).to(tl.int64) * stride + numbers, read, mask=mask)


def copy_pages(pages: Tensor, source: Tensor, target: Tensor) -> None:
    """:func:`agentsim.kernels.page_copies.copy_pages` on the device; each page is contiguous."""
    if source.numel() == 0:
        return
    size = pages[0].numel()
    _copy_pages[(source.numel(), triton.cdiv(size, BLOCK))](
        pages, source, target, size, pages.stride(0), BLOCK=BLOCK, num_warps=4, enable_fp_fusion=True
    )
