"""Paged attention over keys and values in four bits: the Triton kernel. :mod:`agentsim.kernels.int4_attention` defines
it.

The walk is that of :mod:`agentsim.kernels.page_attention_triton`, but a tile of K or V comes as bytes and step sizes,
and is multiplied out in registers. A byte's two halves belong to the two halves of a head, so that the walk keeps
queries and sums in two halves also: the low bits meet one, the high bits the other, and nothing is moved between lanes.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from agentsim.kernels.int4_attention import paged_attention_int4 as attention_by_reference
from agentsim.kernels.int4_packing_triton import fits
from agentsim.kernels.launch_device import processors
from agentsim.kernels.page_attention_triton import LOG2_E, combine, sequence_of, split_space, tile_for
from agentsim.kernels.tile_sizes import INT4_DECODE, INT4_PROMPT, Tile, keys_of_a_block, splits_for


@triton.jit
def _unpacked(
    packed, scales, at, at_scales, is_key,
    MASKED: tl.constexpr, GROUPS: tl.constexpr, GROUP: tl.constexpr, KEYS: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """The two halves [KEYS, HALF] of a tile's numbers; a half has GROUPS groups."""
    if MASKED:
        both = tl.load(packed + at, mask=is_key[:, None], other=0)
        low_steps = tl.load(scales + at_scales, mask=is_key[:, None], other=0.0)
        high_steps = tl.load(scales + at_scales + GROUPS, mask=is_key[:, None], other=0.0)
    else:
        both = tl.load(packed + at)
        low_steps = tl.load(scales + at_scales)
        high_steps = tl.load(scales + at_scales + GROUPS)
    grouped = tl.reshape(both, [KEYS, GROUPS, GROUP])
    low = ((grouped & 15).to(tl.float32) - 8.0) * low_steps[:, :, None]
    high = ((grouped >> 4).to(tl.float32) - 8.0) * high_steps[:, :, None]
    return tl.reshape(low, [KEYS, GROUPS * GROUP]).to(TYPE), tl.reshape(high, [KEYS, GROUPS * GROUP]).to(TYPE)


@triton.jit
def _walk(
    low, high, total, top, q_low, q_high,
    keys, key_steps, values, value_steps, table, first, last, seen_to, most, scale, window,
    stride_p, stride_t, stride_sp, stride_st,
    PAGE: tl.constexpr, KEYS: tl.constexpr, GROUPS: tl.constexpr, GROUP: tl.constexpr,
    MASKED: tl.constexpr, WINDOWED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Take the keys of tiles ``first`` … ``last`` into the rows' sums."""
    steps = tl.arange(0, KEYS)
    numbers = tl.arange(0, GROUPS * GROUP)
    groups = tl.arange(0, GROUPS)
    for start in tl.range(first * KEYS, last * KEYS, KEYS):
        positions = start + steps
        is_key = positions < most
        if MASKED:
            pages = tl.load(table + positions // PAGE, mask=is_key, other=0).to(tl.int64)
        else:
            pages = tl.load(table + positions // PAGE).to(tl.int64)
        at = (pages * stride_p + (positions % PAGE) * stride_t)[:, None] + numbers[None, :]
        at_steps = (pages * stride_sp + (positions % PAGE) * stride_st)[:, None] + groups[None, :]
        k_low, k_high = _unpacked(keys, key_steps, at, at_steps, is_key, MASKED, GROUPS, GROUP, KEYS, q_low.dtype)
        v_low, v_high = _unpacked(values, value_steps, at, at_steps, is_key, MASKED, GROUPS, GROUP, KEYS, q_low.dtype)
        scores = tl.dot(q_low, tl.trans(k_low), input_precision=PRECISION)
        scores = tl.dot(q_high, tl.trans(k_high), scores, input_precision=PRECISION)
        if MASKED:
            seen = positions[None, :] < seen_to[:, None]
            if WINDOWED:
                seen = seen & (positions[None, :] >= seen_to[:, None] - window)
            scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - higher[:, None])
        kept = tl.exp2(top - higher)
        total = total * kept + tl.sum(weights, 1)
        top = higher
        weights = weights.to(q_low.dtype)
        low = tl.dot(weights, v_low, low * kept[:, None], input_precision=PRECISION)
        high = tl.dot(weights, v_high, high * kept[:, None], input_precision=PRECISION)
    return low, high, total, top


@triton.jit(do_not_specialize=["sequences", "window", "stride_table"])
def _attention_int4(
    out, sums, totals, tops, q, k_packed, k_scales, v_packed, v_scales, block_tables, q_starts, kv_lengths,
    sequences, scale, window,
    stride_ot, stride_oh, stride_qt, stride_qh, stride_table,
    stride_p, stride_t, stride_h, stride_sp, stride_st, stride_sh,
    HEADS: tl.constexpr, PAGE: tl.constexpr, GROUPS: tl.constexpr, GROUP: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr, SPLIT: tl.constexpr, WINDOWED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    BLOCK_Q: tl.constexpr = ROWS // HEADS
    HALF: tl.constexpr = GROUPS * GROUP
    head = tl.program_id(0)
    block = tl.num_programs(1) - 1 - tl.program_id(1)
    split = tl.program_id(2)
    splits = tl.num_programs(2)
    sequence = sequence_of(q_starts, block, sequences, BLOCK_Q)
    q_start = tl.load(q_starts + sequence)
    q_count = tl.load(q_starts + sequence + 1) - q_start
    length = tl.load(kv_lengths + sequence)
    token = (block - q_start // BLOCK_Q - sequence) * BLOCK_Q
    if token >= q_count:
        return
    rows = tl.arange(0, ROWS)
    own = token + rows // HEADS
    numbers = tl.arange(0, HALF)
    is_row = (rows < BLOCK_Q * HEADS) & (own < q_count)
    row_head = head * HEADS + rows % HEADS
    row_token = (q_start + own).to(tl.int64)
    at_q = q + row_token[:, None] * stride_qt + row_head[:, None] * stride_qh + numbers[None, :]
    q_low = tl.load(at_q, mask=is_row[:, None], other=0.0)
    q_high = tl.load(at_q + HALF, mask=is_row[:, None], other=0.0)

    seen_to = length - q_count + 1 + tl.minimum(own, q_count - 1)
    fewest = length - q_count + 1 + token
    most = length - q_count + 1 + tl.minimum(token + BLOCK_Q, q_count) - 1
    begin = 0
    whole = 0
    if WINDOWED:
        begin = tl.maximum(0, fewest - window) // KEYS
        whole = tl.cdiv(tl.maximum(0, most - window), KEYS)
    end = tl.cdiv(tl.maximum(0, most), KEYS)
    whole_end = tl.maximum(0, fewest) // KEYS
    if SPLIT:
        share = tl.cdiv(end - begin, splits)
        begin = tl.minimum(begin + split * share, end)
        end = tl.minimum(begin + share, end)
    whole = tl.minimum(tl.maximum(whole, begin), end)
    whole_end = tl.minimum(tl.maximum(whole_end, whole), end)

    low = tl.zeros([ROWS, HALF], tl.float32)
    high = tl.zeros([ROWS, HALF], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    top = tl.full([ROWS], -1.0e30, tl.float32)
    keys = k_packed + head * stride_h
    values = v_packed + head * stride_h
    key_steps = k_scales + head * stride_sh
    value_steps = v_scales + head * stride_sh
    table = block_tables + sequence.to(tl.int64) * stride_table
    if WINDOWED:
        low, high, total, top = _walk(
            low, high, total, top, q_low, q_high,
            keys, key_steps, values, value_steps, table, begin, whole, seen_to, most, scale, window,
            stride_p, stride_t, stride_sp, stride_st,
            PAGE, KEYS, GROUPS, GROUP, True, True, PRECISION,
        )  # fmt: skip
    low, high, total, top = _walk(
        low, high, total, top, q_low, q_high,
        keys, key_steps, values, value_steps, table, whole, whole_end, seen_to, most, scale, window,
        stride_p, stride_t, stride_sp, stride_st,
        PAGE, KEYS, GROUPS, GROUP, False, WINDOWED, PRECISION,
    )  # fmt: skip
    low, high, total, top = _walk(
        low, high, total, top, q_low, q_high,
        keys, key_steps, values, value_steps, table, whole_end, end, seen_to, most, scale, window,
        stride_p, stride_t, stride_sp, stride_st,
        PAGE, KEYS, GROUPS, GROUP, True, WINDOWED, PRECISION,
    )  # fmt: skip

    if SPLIT:
        line = (row_token * (tl.num_programs(0) * HEADS) + row_head) * splits + split
        tl.store(totals + line, total, mask=is_row)
        tl.store(tops + line, top, mask=is_row)
        at_sums = sums + line[:, None] * (2 * HALF) + numbers[None, :]
        tl.store(at_sums, low, mask=is_row[:, None])
        tl.store(at_sums + HALF, high, mask=is_row[:, None])
    else:
        share = tl.where(total > 0, total, 1.0)[:, None]
        at_out = out + row_token[:, None] * stride_ot + row_head[:, None] * stride_oh + numbers[None, :]
        tl.store(at_out, (low / share).to(out.dtype.element_ty), mask=is_row[:, None])
        tl.store(at_out + HALF, (high / share).to(out.dtype.element_ty), mask=is_row[:, None])


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
    configuration: Tile | None = None,
) -> Tensor:
    """:func:`agentsim.kernels.int4_attention.paged_attention_int4` on the device.

    K and V have the same strides. Heads that are no power of two, or of a single group, go to the reference.
    ``configuration`` takes the place of the table's tile, for tuning.
    """
    tokens, heads, size = q.shape
    page, kv_heads = k_packed.shape[1], k_packed.shape[2]
    size_group = size // k_scales.shape[3]
    if not fits(size, size_group) or size & (size - 1):
        return attention_by_reference(
            q, k_packed, k_scales, v_packed, v_scales, block_tables, q_starts, kv_lengths,
            scale=scale, window=window, splits=splits, out=out,
        )  # fmt: skip
    sequences, group = kv_lengths.shape[0], heads // kv_heads
    result = torch.empty_like(q) if out is None else out
    if tokens == 0 or sequences == 0:
        return result
    if k_packed.stride() != v_packed.stride() or k_scales.stride() != v_scales.stride():
        raise ValueError("keys and values must have the same strides")
    chosen = configuration or tile_for(q, sequences, group, prompt=INT4_PROMPT, decode=INT4_DECODE)
    blocks = tokens // (chosen.rows // group) + sequences
    if splits is None:
        most_keys = keys_of_a_block(block_tables.shape[1] * page, chosen.rows // group, window)
        splits = splits_for(blocks * kv_heads, most_keys, processors(q.device))
    sums, totals, tops = split_space(q, splits)
    options: dict[str, Any] = {"num_warps": chosen.warps, "num_stages": chosen.stages, "enable_fp_fusion": True}
    _attention_int4[(kv_heads, blocks, splits)](
        result, sums, totals, tops, q, k_packed, k_scales, v_packed, v_scales, block_tables, q_starts, kv_lengths,
        sequences, scale * LOG2_E, window or 0,
        result.stride(0), result.stride(1), q.stride(0), q.stride(1), block_tables.stride(0),
        *k_packed.stride()[:3], *k_scales.stride()[:3],
        HEADS=group, PAGE=page, GROUPS=size // 2 // size_group, GROUP=size_group,
        ROWS=chosen.rows, KEYS=chosen.keys, SPLIT=splits > 1,
        WINDOWED=window is not None, PRECISION="ieee" if q.dtype == torch.float32 else "tf32", **options,
    )  # fmt: skip
    if splits > 1:
        combine(result, sums, totals, tops)
    return result
