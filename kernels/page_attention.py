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
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from agentsim.kernels.same_results import Same


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
    keys, values = k_pages.flatten(0, 1), v_pages.flatten(0, 1)
    return attend(parts, q, partial(_rows, keys), partial(_rows, values), scale, out)


def _rows(rows: Tensor, slots: slice | Tensor) -> Tensor:
    return rows[slots] if isinstance(slots, slice) else rows.index_select(0, slots)


@dataclass(frozen=True)
class BatchPart:
    """Some of a batch's sequences that are computed together: one with any queries, or several with one each."""

    sequences: int
    rows: slice | Tensor
    """Of the queries."""

    queries: int
    """Of each sequence."""

    slots: slice | Tensor | None
    """Rows of the flattened pages with the keys, sequence by sequence, padded to one length; None: there are none."""

    mask: Tensor | None = None
    """What is added to the scores, or None: all keys are seen."""

    causal: bool = False
    """As many keys as queries, and each sees those up to its own: no mask is needed."""


def attend(
    parts: Sequence[BatchPart],
    q: Tensor,
    keys: Callable[[slice | Tensor], Tensor],
    values: Callable[[slice | Tensor], Tensor],
    scale: float,
    out: Tensor | None,
) -> Tensor:
    """Attention of ``q`` part by part; ``keys`` and ``values`` give the rows [n, Hkv, D] of n slots."""
    if len(parts) == 1 and parts[0].slots is not None and out is None:  # all rows, in order
        return _answer(parts[0], q, keys(parts[0].slots), values(parts[0].slots), scale)
    result = torch.empty_like(q) if out is None else out
    for part in parts:
        if part.slots is None:
            result[part.rows] = 0
        else:
            result[part.rows] = _answer(part, q[part.rows], keys(part.slots), values(part.slots), scale)
    return result


def _answer(part: BatchPart, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Attention of one part's queries over its keys and values [sequences · length, Hkv, D]."""
    heads, size = k.shape[1], k.shape[2]
    group = q.shape[1] // heads
    if part.queries == 1:
        # The queries of a group see the same keys, so they stand as rows of one product.
        q = q.view(part.sequences, heads, group, size)
        k = k.view(part.sequences, -1, heads, size).transpose(1, 2)
        v = v.view(part.sequences, -1, heads, size).transpose(1, 2)
        answer = scaled_dot_product_attention(q, k, v, attn_mask=part.mask, scale=scale)
        return answer.reshape(part.sequences, heads * group, size)
    # K/V heads in the place of the batch; a group shares its head through a stride of 0, without a copy.
    q = q.view(part.queries, heads, group, size).permute(1, 2, 0, 3)
    k = k.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
    v = v.transpose(0, 1).unsqueeze(1).expand(-1, group, -1, -1)
    answer = scaled_dot_product_attention(q, k, v, attn_mask=part.mask, is_causal=part.causal, scale=scale)
    return answer.permute(2, 0, 1, 3).reshape(part.queries, heads * group, size)


KEYS_TOGETHER = 1024
"""The most keys, padding counted, that sequences of one query each may have to be computed together."""


class _Latest(threading.local):
    """The plan made last by each thread, and of what: all layers of a model ask for the same one in turn."""

    batch: Same | None = None
    asked: tuple[object, ...] = ()
    parts: tuple[BatchPart, ...] = ()


_latest = _Latest()


def plan(
    block_tables: Tensor,
    q_starts: Tensor,
    kv_lengths: Tensor,
    *,
    page: int,
    window: int | None,
    dtype: torch.dtype,
) -> tuple[BatchPart, ...]:
    """How a batch is computed: where its keys are and who sees which.

    The last plan is kept for each thread, and found again while its tensors are the same and nobody wrote to them.
    """
    asked = (page, window, dtype)
    if _latest.batch is not None and _latest.asked == asked and _latest.batch.are(block_tables, q_starts, kv_lengths):
        return _latest.parts
    parts = tuple(_parts(block_tables, q_starts.tolist(), kv_lengths.tolist(), page, window, dtype))
    _latest.batch, _latest.asked, _latest.parts = Same(block_tables, q_starts, kv_lengths), asked, parts
    return parts


def _parts(
    tables: Tensor, starts: list[int], lengths: list[int], page: int, window: int | None, dtype: torch.dtype
) -> Iterator[BatchPart]:
    single: list[int] = []
    for b, length in enumerate(lengths):
        start, stop = starts[b], starts[b + 1]
        unseeing = max(0, stop - start - length)
        if unseeing:
            yield BatchPart(1, slice(start, start + unseeing), unseeing, None)
            start += unseeing
        if stop - start == 1:
            single.append(b)
        elif stop > start:
            yield _prompt(tables[b], start, stop, length, page, window, dtype)
    # Sequences of one query stand together as long as their keys fit in a processor's cache. Longest first: those that
    # stand together are then of like length, and little of the padding is computed.
    spans = {b: lengths[b] if window is None else min(lengths[b], window) for b in single}
    together: list[int] = []
    for b in sorted(single, key=lambda b: -spans[b]):
        if together and spans[together[0]] * (len(together) + 1) > KEYS_TOGETHER:
            yield _tokens(tables, sorted(together), spans, starts, lengths, page, dtype)
            together = []
        together.append(b)
    if together:
        yield _tokens(tables, sorted(together), spans, starts, lengths, page, dtype)


def _prompt(
    table: Tensor, start: int, stop: int, length: int, page: int, window: int | None, dtype: torch.dtype
) -> BatchPart:
    """One sequence, the last ``stop - start`` positions of which are asked."""
    queries = stop - start
    first = 0 if window is None else max(0, length - queries - window + 1)
    slots = _slots(table, first, length, page)
    if queries == length - first and (window is None or window >= queries):
        return BatchPart(1, slice(start, stop), queries, slots, causal=True)
    positions = torch.arange(first, length, device=table.device)
    own = positions[length - first - queries :].unsqueeze(1)
    seen = positions <= own
    if window is not None:
        seen &= positions > own - window
    return BatchPart(1, slice(start, stop), queries, slots, _additive(seen, dtype))


def _tokens(
    tables: Tensor,
    chosen: list[int],
    spans: dict[int, int],
    starts: list[int],
    lengths: list[int],
    page: int,
    dtype: torch.dtype,
) -> BatchPart:
    """Several sequences with one query each, padded to the longest by repeating their last key."""
    if len(chosen) == 1:
        b = chosen[0]
        slots = _slots(tables[b], lengths[b] - spans[b], lengths[b], page)
        return BatchPart(1, slice(starts[b + 1] - 1, starts[b + 1]), 1, slots)
    device = tables.device
    ends = torch.tensor([lengths[b] for b in chosen], device=device).unsqueeze(1)
    seen = torch.tensor([spans[b] for b in chosen], device=device).unsqueeze(1)
    steps = torch.arange(max(spans[b] for b in chosen), device=device).unsqueeze(0)
    positions = torch.minimum(ends - seen + steps, ends - 1)
    pages = tables.index_select(0, torch.tensor(chosen, device=device)).long().gather(1, positions // page)
    slots = (pages * page + positions % page).flatten()
    is_padded = len({spans[b] for b in chosen}) > 1
    mask = _additive(steps < seen, dtype)[:, None, None, :] if is_padded else None
    last = [starts[b + 1] - 1 for b in chosen]
    return BatchPart(len(chosen), torch.tensor(last, device=device), 1, slots, mask)


def _slots(table: Tensor, first: int, stop: int, page: int) -> slice | Tensor:
    """The slots of a sequence's positions from ``first`` to ``stop``: as a slice where its pages follow one another,
    which needs no copy of their rows."""
    pages = table[first // page : (stop - 1) // page + 1].tolist()
    if pages == list(range(pages[0], pages[0] + len(pages))):
        begin = pages[0] * page + first % page
        return slice(begin, begin + stop - first)
    positions = torch.arange(first, stop, device=table.device)
    return table.index_select(0, positions // page).long() * page + positions % page


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, float("-inf"))
