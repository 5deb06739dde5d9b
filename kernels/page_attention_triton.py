"""Attention over pages of keys and values: the Triton kernel. :mod:`agentsim.kernels.page_attention` defines what it
computes.

A program takes one K/V head and a run of rows, a row being one query head of one token: the heads of a group and as
many neighbouring tokens as there is room for read the same keys, and fill the tile of a tensor core together. It walks
the keys in tiles that need not end where pages do, and keeps its rows' running maxima, denominators and weighted sums.
The walk has up to three stretches: where the window's edge runs through, where all rows see all keys (no mask), and the
end. Where there are too few rows to occupy the device, a sequence's keys are split among programs along the third axis
of the grid, and :func:`_combine` puts their sums together; one split writes its result itself. How many splits there
are the grid says: a kernel is compiled for one and for several, not for each number of them.

The grid depends on shapes alone, never on lengths, so that a launch can be recorded and replayed: there may be a block
too many for each sequence, which finds nothing to do.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from agentsim.kernels.launch_device import capability, processors
from agentsim.kernels.tile_sizes import (
    DECODE,
    FLOAT32,
    MOST_SPLITS,
    PROMPT,
    Table,
    Tile,
    keys_of_a_block,
    padded,
    splits_for,
    tile,
)

LOG2_E = 1.4426950408889634


@triton.jit
def sequence_of(q_starts, block, sequences, BLOCK_Q: tl.constexpr):
    """The sequence that a block of BLOCK_Q tokens belongs to: the last b with q_starts[b] // BLOCK_Q + b <= block."""
    low = 0
    high = sequences
    while low < high:
        middle = (low + high) // 2
        if tl.load(q_starts + middle) // BLOCK_Q + middle <= block:
            low = middle + 1
        else:
            high = middle
    return low - 1


@triton.jit
def _walk(
    acc, total, top, q,
    keys, values, table, first, last, seen_to, most, scale, window,
    stride_kp, stride_kt, stride_vp, stride_vt,
    PAGE: tl.constexpr, KEYS: tl.constexpr, SIZE: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    MASKED: tl.constexpr, WINDOWED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Take the keys of tiles ``first`` … ``last`` into the rows' sums."""
    steps = tl.arange(0, KEYS)
    numbers = tl.arange(0, BLOCK_SIZE)
    # What does not change from tile to tile stays out of the loop: where tiles hold whole pages, all but their numbers.
    fixed_k = numbers[None, :]
    fixed_v = numbers[None, :]
    if KEYS % PAGE == 0:
        fixed_k += (steps % PAGE)[:, None] * stride_kt
        fixed_v += (steps % PAGE)[:, None] * stride_vt
    for start in tl.range(first * KEYS, last * KEYS, KEYS):
        positions = start + steps
        if MASKED:
            there = positions < most
            pages = tl.load(table + positions // PAGE, mask=there, other=0).to(tl.int64)
        else:
            pages = tl.load(table + positions // PAGE).to(tl.int64)
        at_k = pages[:, None] * stride_kp + fixed_k
        at_v = pages[:, None] * stride_vp + fixed_v
        if KEYS % PAGE != 0:
            at_k += (positions % PAGE)[:, None] * stride_kt
            at_v += (positions % PAGE)[:, None] * stride_vt
        if MASKED:
            k = tl.load(keys + at_k, mask=there[:, None] & (numbers < SIZE)[None, :], other=0.0)
        elif SIZE != BLOCK_SIZE:
            k = tl.load(keys + at_k, mask=(numbers < SIZE)[None, :], other=0.0)
        else:
            k = tl.load(keys + at_k)
        if MASKED:
            v = tl.load(values + at_v, mask=there[:, None] & (numbers < SIZE)[None, :], other=0.0)
        elif SIZE != BLOCK_SIZE:
            v = tl.load(values + at_v, mask=(numbers < SIZE)[None, :], other=0.0)
        else:
            v = tl.load(values + at_v)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        if MASKED:
            seen = positions[None, :] < seen_to[:, None]
            if WINDOWED:
                seen = seen & (positions[None, :] >= seen_to[:, None] - window)
            scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - higher[:, None])
        kept = tl.exp2(top - higher)
        total = total * kept + tl.sum(weights, 1)
        acc = acc * kept[:, None]
        top = higher
        acc = tl.dot(weights.to(v.dtype), v, acc, input_precision=PRECISION)
    return acc, total, top


@triton.jit(do_not_specialize=["sequences", "window", "stride_table"])
def _attention(
    out, sums, totals, tops, q, k_pages, v_pages, block_tables, q_starts, kv_lengths,
    sequences, scale, window,
    stride_ot, stride_oh, stride_qt, stride_qh, stride_table,
    stride_kp, stride_kt, stride_kh, stride_vp, stride_vt, stride_vh,
    GROUP: tl.constexpr, PAGE: tl.constexpr, SIZE: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr, SPLIT: tl.constexpr, WINDOWED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    BLOCK_Q: tl.constexpr = ROWS // GROUP
    head = tl.program_id(0)
    # The last blocks of a prompt see the most keys: they begin first, so that none is left working alone at the end.
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
    own = token + rows // GROUP
    numbers = tl.arange(0, BLOCK_SIZE)
    is_row = (rows < BLOCK_Q * GROUP) & (own < q_count)
    mask = is_row[:, None] & (numbers < SIZE)[None, :]
    row_head = head * GROUP + rows % GROUP
    row_token = (q_start + own).to(tl.int64)
    at_q = row_token[:, None] * stride_qt + row_head[:, None] * stride_qh + numbers[None, :]
    queries = tl.load(q + at_q, mask=mask, other=0.0)

    # Keys before seen_to are seen. Rows that are none see what the last token sees, and are never stored.
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

    acc = tl.zeros([ROWS, BLOCK_SIZE], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    # Not -inf: the difference of two of those is no number.
    top = tl.full([ROWS], -1.0e30, tl.float32)
    keys = k_pages + head * stride_kh
    values = v_pages + head * stride_vh
    table = block_tables + sequence.to(tl.int64) * stride_table
    if WINDOWED:
        acc, total, top = _walk(
            acc, total, top, queries, keys, values, table, begin, whole, seen_to, most, scale, window,
            stride_kp, stride_kt, stride_vp, stride_vt,
            PAGE, KEYS, SIZE, BLOCK_SIZE, True, True, PRECISION,
        )  # fmt: skip
    acc, total, top = _walk(
        acc, total, top, queries, keys, values, table, whole, whole_end, seen_to, most, scale, window,
        stride_kp, stride_kt, stride_vp, stride_vt,
        PAGE, KEYS, SIZE, BLOCK_SIZE, False, WINDOWED, PRECISION,
    )  # fmt: skip
    acc, total, top = _walk(
        acc, total, top, queries, keys, values, table, whole_end, end, seen_to, most, scale, window,
        stride_kp, stride_kt, stride_vp, stride_vt,
        PAGE, KEYS, SIZE, BLOCK_SIZE, True, WINDOWED, PRECISION,
    )  # fmt: skip

    if SPLIT:
        line = (row_token * (tl.num_programs(0) * GROUP) + row_head) * splits + split
        tl.store(totals + line, total, mask=is_row)
        tl.store(tops + line, top, mask=is_row)
        tl.store(sums + line[:, None] * SIZE + numbers[None, :], acc, mask=mask)
    else:
        acc = acc / tl.where(total > 0, total, 1.0)[:, None]
        at_out = row_token[:, None] * stride_ot + row_head[:, None] * stride_oh + numbers[None, :]
        tl.store(out + at_out, acc.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["count"])
def _combine(
    out, sums, totals, tops, count, stride_ot, stride_oh,
    SIZE: tl.constexpr, BLOCK_SIZE: tl.constexpr, MOST: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """One row of the result from its splits: each counts by how far its maximum is below the highest."""
    head = tl.program_id(0)
    token = tl.program_id(1).to(tl.int64)
    numbers = tl.arange(0, BLOCK_SIZE)
    line = (token * tl.num_programs(0) + head) * count
    every = tl.arange(0, MOST)
    # A split that saw no key has no maximum to be read.
    saw = tl.load(totals + line + every, mask=every < count, other=0.0) > 0
    highest = tl.max(tl.load(tops + line + every, mask=saw, other=-1.0e30), 0)
    whole = 0.0
    result = tl.zeros([BLOCK_SIZE], tl.float32)
    for first in tl.range(0, count, TOGETHER):
        splits = first + tl.arange(0, TOGETHER)
        total = tl.load(totals + line + splits, mask=splits < count, other=0.0)
        some = total > 0
        top = tl.load(tops + line + splits, mask=some, other=-1.0e30)
        share = tl.where(some, tl.exp2(top - highest), 0.0)
        part = tl.load(
            sums + (line + splits)[:, None] * SIZE + numbers[None, :],
            mask=some[:, None] & (numbers < SIZE)[None, :],
            other=0.0,
        )
        whole += tl.sum(total * share, 0)
        result += tl.sum(part * share[:, None], 0)
    result = result / tl.where(whole > 0, whole, 1.0)
    at_out = token * stride_ot + head * stride_oh + numbers
    tl.store(out + at_out, result.to(out.dtype.element_ty), mask=numbers < SIZE)


def combine(out: Tensor, sums: Tensor, totals: Tensor, tops: Tensor) -> None:
    """Put the splits' sums [T, Hq, splits, D], denominators and maxima [T, Hq, splits] together in ``out``."""
    tokens, heads, splits, size = sums.shape
    _combine[(heads, tokens)](
        out, sums, totals, tops, splits, out.stride(0), out.stride(1),
        SIZE=size, BLOCK_SIZE=padded(size), MOST=MOST_SPLITS, TOGETHER=16,
        num_warps=4, enable_fp_fusion=True,
    )  # fmt: skip


def tile_for(q: Tensor, sequences: int, group: int, *, prompt: Table = PROMPT, decode: Table = DECODE) -> Tile:
    """The tile for a batch: that of decoding where there is one token for each sequence, else that of prompts;
    in float32 the same for both."""
    tokens, _, size = q.shape
    table = FLOAT32 if q.dtype == torch.float32 else decode if tokens <= sequences else prompt
    found = tile(table, capability(q.device), size)
    return found._replace(rows=max(found.rows, padded(group)))


def split_space(q: Tensor, splits: int) -> tuple[Tensor, Tensor, Tensor]:
    """Room for the splits' sums, denominators and maxima; ``q`` itself three times where there is one split."""
    if splits == 1:
        return q, q, q
    tokens, heads, size = q.shape
    sums = torch.empty((tokens, heads, splits, size), dtype=torch.float32, device=q.device)
    totals = torch.empty((2, tokens, heads, splits), dtype=torch.float32, device=q.device)
    return sums, totals[0], totals[1]


def paged_attention(
    q: Tensor,
    k_pages: Tensor,
    v_pages: Tensor,
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
    """:func:`agentsim.kernels.page_attention.paged_attention` on the device; the numbers of a head are neighbours
    everywhere.

    ``configuration`` takes the place of the table's tile, for tuning.
    """
    tokens, heads, size = q.shape
    page, kv_heads = k_pages.shape[1], k_pages.shape[2]
    sequences, group = kv_lengths.shape[0], heads // kv_heads
    result = torch.empty_like(q) if out is None else out
    if tokens == 0 or sequences == 0:
        return result
    chosen = configuration or tile_for(q, sequences, group)
    blocks = tokens // (chosen.rows // group) + sequences
    if splits is None:
        most_keys = keys_of_a_block(block_tables.shape[1] * page, chosen.rows // group, window)
        splits = splits_for(blocks * kv_heads, most_keys, processors(q.device))
    sums, totals, tops = split_space(q, splits)
    options: dict[str, Any] = {"num_warps": chosen.warps, "num_stages": chosen.stages, "enable_fp_fusion": True}
    _attention[(kv_heads, blocks, splits)](
        result, sums, totals, tops, q, k_pages, v_pages, block_tables, q_starts, kv_lengths,
        sequences, scale * LOG2_E, window or 0,
        result.stride(0), result.stride(1), q.stride(0), q.stride(1), block_tables.stride(0),
        k_pages.stride(0), k_pages.stride(1), k_pages.stride(2),
        v_pages.stride(0), v_pages.stride(1), v_pages.stride(2),
        GROUP=group, PAGE=page, SIZE=size, BLOCK_SIZE=padded(size), ROWS=chosen.rows, KEYS=chosen.keys,
        SPLIT=splits > 1, WINDOWED=window is not None,
        PRECISION="ieee" if q.dtype == torch.float32 else "tf32", **options,
    )  # fmt: skip
    if splits > 1:
        combine(result, sums, totals, tops)
    return result
