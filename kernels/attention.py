"""Attention over pages of keys and values, for batches of sequences of any lengths: the definition, and the CPU's way.

Query i of sequence b stands at position ``kv_lengths[b] - q_len[b] + i`` and sees the keys at positions up to its own;
with a window, only the last ``window`` of them, its own among these. So a prompt, the rest of a prompt whose beginning
is cached, and a single generated token are one case each of the same thing, and may stand in one batch.

Keys are gathered row by row, never page by page: what lies in a page behind a sequence's end may be anything, even NaN.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


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
) -> Tensor:
    """Causal attention of ``q`` [T, Hq, D] over ``k_pages`` and ``v_pages`` [P, page, Hkv, D]: [T, Hq, D].

    ``q_starts`` [B+1]: the rows of sequence b are q_starts[b] … q_starts[b+1]; ``kv_lengths`` [B]: its keys, those of
    its own queries counted; ``block_tables`` [B, M]: its pages in order (entries behind its end are never looked at);
    all int32. Hq is a multiple of Hkv: query head h reads head ``h // (Hq/Hkv)``. A query that sees no key gives zeros.
    ``window`` counts the query's own position. ``splits`` is for kernels that share one sequence's keys among several
    programs; it never changes the result beyond rounding, and nothing here. ``out`` takes the result if given.
    """
    del splits
    parts = plan(block_tables, q_starts, kv_lengths, page=k_pages.shape[1], window=window, dtype=q.dtype)
    result = torch.empty_like(q) if out is None else out
    keys, values = k_pages.flatten(0, 1), v_pages.flatten(0, 1)
    attend(
        parts, q, lambda slots: keys.index_select(0, slots), lambda slots: values.index_select(0, slots), result, scale
    )
    return result


@dataclass(frozen=True)
class Part:
    """Some of a batch's sequences that are computed together: one with any queries, or several with one each."""

    sequences: int
    rows: slice | Tensor
    """Of the queries: a slice for one sequence, else the index of each."""

    slots: Tensor | None
    """Rows of the flattened pages with the keys, sequence by sequence, padded to one length; None: there are none."""

    mask: Tensor | None
    """What is added to the scores, or None: all keys are seen."""

    causal: bool = False
    """As many keys as queries, and each sees those up to its own: no mask is needed."""


def attend(
    parts: Sequence[Part],
    q: Tensor,
    keys: Callable[[Tensor], Tensor],
    values: Callable[[Tensor], Tensor],
    result: Tensor,
    scale: float,
) -> None:
    """Fill ``result`` with attention of ``q``; ``keys`` and ``values`` give the rows [n, Hkv, D] of n slots."""
    for part in parts:
        if part.slots is None:
            result[part.rows] = 0
            continue
        k, v = keys(part.slots), values(part.slots)
        heads, size = k.shape[1], k.shape[2]
        group = q.shape[1] // heads
        queries = q[part.rows]
        if part.sequences > 1:
            # The queries of a group see the same keys, so they stand as rows of one product.
            queries = queries.view(part.sequences, heads, group, size)
            k = k.view(part.sequences, -1, heads, size).transpose(1, 2)
            v = v.view(part.sequences, -1, heads, size).transpose(1, 2)
            answer = scaled_dot_product_attention(queries, k, v, attn_mask=part.mask, scale=scale)
            result[part.rows] = answer.reshape(part.sequences, heads * group, size)
        elif queries.shape[0] == 1:
            queries = queries.view(1, heads, group, size)
            k, v = k.transpose(0, 1).unsqueeze(0), v.transpose(0, 1).unsqueeze(0)
            answer = scaled_dot_product_attention(queries, k, v, scale=scale)
            result[part.rows] = answer.view(1, heads * group, size)
        else:
            # K/V heads in the place of the batch; a group shares its head through a stride of 0, without a copy.
            tokens = queries.shape[0]
            queries = queries.view(tokens, heads, group, size).permute(1, 2, 0, 3)
            k = k.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
            v = v.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
            answer = scaled_dot_product_attention(
                queries, k, v, attn_mask=part.mask, is_causal=part.causal, scale=scale
            )
            result[part.rows] = answer.permute(2, 0, 1, 3).reshape(tokens, heads * group, size)


_latest = threading.local()
"""The plan made last by each thread, and what it was made of: all layers of a model ask for the same one in turn."""


def plan(
    block_tables: Tensor,
    q_starts: Tensor,
    kv_lengths: Tensor,
    *,
    page: int,
    window: int | None,
    dtype: torch.dtype,
) -> tuple[Part, ...]:
    """How a batch is computed: where its keys are and who sees which.

    The last plan is kept for each thread, and found again by the contents of the arguments.
    """
    starts, lengths = q_starts.tolist(), kv_lengths.tolist()
    key = (starts, lengths, page, window, dtype, block_tables.device)
    if getattr(_latest, "key", None) == key and torch.equal(_latest.tables, block_tables):
        return cast("tuple[Part, ...]", _latest.parts)
    parts = tuple(_parts(block_tables, starts, lengths, page, window, dtype))
    _latest.key, _latest.tables, _latest.parts = key, block_tables.clone(), parts
    return parts


def _parts(
    tables: Tensor, starts: list[int], lengths: list[int], page: int, window: int | None, dtype: torch.dtype
) -> Iterator[Part]:
    single: list[int] = []
    for b, length in enumerate(lengths):
        start, stop = starts[b], starts[b + 1]
        unseeing = min(stop - start, max(0, stop - start - length))
        if unseeing:
            yield Part(1, slice(start, start + unseeing), None, None)
            start += unseeing
        if stop - start == 1:
            single.append(b)
        elif stop > start:
            yield _prompt(tables[b], start, stop, length, page, window, dtype)
    if len(single) == 1:
        b = single[0]
        yield _prompt(tables[b], starts[b + 1] - 1, starts[b + 1], lengths[b], page, window, dtype)
    elif single:
        yield _tokens(tables, single, starts, lengths, page, window, dtype)


def _prompt(
    table: Tensor, start: int, stop: int, length: int, page: int, window: int | None, dtype: torch.dtype
) -> Part:
    """One sequence, the last ``stop - start`` positions of which are asked."""
    queries = stop - start
    first = 0 if window is None else max(0, length - queries - window + 1)
    positions = torch.arange(first, length, device=table.device)
    slots = table.index_select(0, positions // page).long() * page + positions % page
    rows = slice(start, stop)
    if queries == 1:
        return Part(1, rows, slots, None)
    if queries == length - first and (window is None or window >= queries):
        return Part(1, rows, slots, None, causal=True)
    own = positions[length - first - queries :].unsqueeze(1)
    seen = positions <= own
    if window is not None:
        seen &= positions > own - window
    return Part(1, rows, slots, _additive(seen, dtype))


def _tokens(
    tables: Tensor,
    single: list[int],
    starts: list[int],
    lengths: list[int],
    page: int,
    window: int | None,
    dtype: torch.dtype,
) -> Part:
    """Several sequences with one query each, all padded to the longest. Padding repeats a sequence's last key."""
    device = tables.device
    chosen = torch.tensor(single, device=device)
    ends = torch.tensor([lengths[b] for b in single], device=device).unsqueeze(1)
    spans = ends if window is None else ends.clamp(max=window)
    longest = int(spans.max())
    steps = torch.arange(longest, device=device).unsqueeze(0)
    positions = torch.minimum(ends - spans + steps, ends - 1)
    slots = tables.index_select(0, chosen).long().gather(1, positions // page) * page + positions % page
    mask = None if int(spans.min()) == longest else _additive(steps < spans, dtype)[:, None, None, :]
    rows = torch.tensor([starts[b + 1] - 1 for b in single], device=device)
    return Part(len(single), rows, slots.flatten(), mask)


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, float("-inf"))
