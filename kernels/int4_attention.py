"""Paged attention over keys and values kept in four bits: the definition."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from agentsim.kernels.int4_packing import unpack_int4
from agentsim.kernels.page_attention import attend, plan


def paged_attention_int4(
    q: Tensor,
    k_packed: Tensor,
    k_scales: Tensor,
    v_packed: Tensor,
    v_scales: Tensor,
    block_tables: Tensor,
    q_starts: Tensor,
    kv_lengths: Tensor,
    *,
    scale: float,
    window: int | None = None,
    splits: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`agentsim.kernels.page_attention.paged_attention` over packed pages.

    ``k_packed`` and ``v_packed`` uint8 [P, page, Hkv, D/2] and their ``k_scales`` and ``v_scales`` float32
    [P, page, Hkv, D/group] are what :func:`agentsim.kernels.int4_packing.pack_int4` makes of pages [P, page, Hkv, D];
    all else is as there. Here what a sequence reads is unpacked before it is used; the kernel unpacks as it reads.
    """
    del splits
    parts = plan(block_tables, q_starts, kv_lengths, page=k_packed.shape[1], window=window, dtype=q.dtype)
    keys = partial(_rows, k_packed.flatten(0, 1), k_scales.flatten(0, 1), q.dtype)
    values = partial(_rows, v_packed.flatten(0, 1), v_scales.flatten(0, 1), q.dtype)
    return attend(parts, q, keys, values, scale, out)


def _rows(packed: Tensor, scales: Tensor, dtype: torch.dtype, slots: slice | Tensor) -> Tensor:
    return unpack_int4(packed[slots], scales[slots], dtype)
