"""Attention over pages on a CPU: the plan is made once for a batch, then every layer follows it.

The plan decides how each sequence's keys reach PyTorch's attention. Pages that follow one another are read where they
are; scattered ones are gathered, for all sequences that have one new token in a single call. The 30 layers of a model
then spend their time in matrix products, not in laying out the same indices again.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention

from engine.batch import Batch


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows ``first`` to ``last`` of the batch, all of one sequence, against its ``length`` positions."""

    first: int
    last: int
    length: int
    start: int | None
    """The first of its pages where they follow one another, else None."""
    pages: torch.Tensor
    """int64: the pages, for gathering."""
    mask: torch.Tensor | None
    """bool[rows, length], or None where every row sees every position."""
    causal: bool
    """Every row sees itself and what stands before it, and there is nothing before the first: no mask needed."""


@dataclass(frozen=True, slots=True)
class _Together:
    """Sequences with one new token each, attended to in one call over keys padded to the longest."""

    rows: torch.Tensor | None
    """int64[B], or None where they are all rows of the batch in order."""
    pages: torch.Tensor
    """int64[B * M]."""
    mask: torch.Tensor
    """bool[B, 1, 1, M * page_size]."""


class AttentionPlan:
    """How one batch is attended to, for pages of ``page_size`` tokens; the same in every layer."""

    def __init__(self, batch: Batch, page_size: int, window: int | None = None) -> None:
        starts = batch.q_starts.tolist()
        lengths = batch.kv_lengths.tolist()
        tables = batch.block_tables.tolist()
        singles = [number for number in range(len(lengths)) if starts[number + 1] - starts[number] == 1]
        self._runs: list[_Run] = []
        self._together: _Together | None = None
        alone = [number for number in range(len(lengths)) if starts[number + 1] - starts[number] > 1]
        if len(singles) == 1:
            alone.append(singles[0])
        elif singles:
            rows = [starts[number] for number in singles]
            self._together = _together(rows, starts[-1], singles, batch, page_size, window)
        for number in alone:
            self._runs.append(
                _run(starts[number], starts[number + 1], lengths[number], tables[number], page_size, window)
            )

    def attend(
        self, q: torch.Tensor, k_pages: torch.Tensor, v_pages: torch.Tensor, scale: float, group: int
    ) -> torch.Tensor:
        """Attention of ``q`` [T, heads, head_dim] over one layer's pages, [T, heads, head_dim].

        ``group`` query heads read one key head.
        """
        out = torch.empty_like(q)
        together = self._together
        if together is not None:
            mine = q if together.rows is None else q.index_select(0, together.rows)
            found = _one_row_each(mine, k_pages, v_pages, together, scale, group)
            if together.rows is None:
                return found
            out.index_copy_(0, together.rows, found)
        for run in self._runs:
            found = _one_sequence(q[run.first : run.last], k_pages, v_pages, run, scale, group)
            if run.last - run.first == q.shape[0]:
                return found
            out[run.first : run.last] = found
        return out


def _run(first: int, last: int, length: int, table: list[int], page_size: int, window: int | None) -> _Run:
    pages = table[: -(-length // page_size)]
    follow = all(later - earlier == 1 for earlier, later in zip(pages, pages[1:], strict=False))
    rows = last - first
    causal = rows == length and window is None
    mask = None
    if not causal and (rows > 1 or window is not None):
        mask = _mask(torch.arange(length - rows, length), length, window)
    return _Run(
        first=first,
        last=last,
        length=length,
        start=pages[0] if follow else None,
        pages=torch.tensor(pages, dtype=torch.int64),
        mask=mask,
        causal=causal and rows > 1,
    )


def _mask(positions: torch.Tensor, length: int, window: int | None) -> torch.Tensor:
    """Which of ``length`` positions a token at each of ``positions`` may look at."""
    spots = torch.arange(length)
    seen = spots <= positions[:, None]
    if window is not None:
        seen &= spots > positions[:, None] - window
    return seen


def _together(
    rows: list[int], total: int, numbers: list[int], batch: Batch, page_size: int, window: int | None
) -> _Together:
    chosen = torch.tensor(numbers, dtype=torch.int64)
    lengths = batch.kv_lengths.to(torch.int64)[chosen]
    width = -(-int(lengths.max()) // page_size)
    tables = batch.block_tables[chosen, :width].to(torch.int64)
    return _Together(
        rows=None if len(rows) == total else torch.tensor(rows, dtype=torch.int64),
        pages=tables.reshape(-1),
        mask=_mask(lengths - 1, width * page_size, window)[:, None, None, :],
    )


def _one_sequence(
    q: torch.Tensor, k_pages: torch.Tensor, v_pages: torch.Tensor, run: _Run, scale: float, group: int
) -> torch.Tensor:
    rows, heads, size = q.shape
    if run.start is not None:
        k = k_pages[run.start : run.start + len(run.pages)]
        v = v_pages[run.start : run.start + len(run.pages)]
    else:
        k = k_pages.index_select(0, run.pages)
        v = v_pages.index_select(0, run.pages)
    k = k.flatten(0, 1)[: run.length].transpose(0, 1)[None]
    v = v.flatten(0, 1)[: run.length].transpose(0, 1)[None]
    if rows == 1:
        # The query heads of a group stand in for rows, so that shared keys are read once.
        found = scaled_dot_product_attention(
            q.view(1, heads // group, group, size), k, v, attn_mask=run.mask, scale=scale
        )
        return found.reshape(1, heads, size)
    found = scaled_dot_product_attention(
        q.transpose(0, 1)[None], k, v, attn_mask=run.mask, is_causal=run.causal, scale=scale, enable_gqa=group > 1
    )
    return found[0].transpose(0, 1)


def _one_row_each(
    q: torch.Tensor, k_pages: torch.Tensor, v_pages: torch.Tensor, together: _Together, scale: float, group: int
) -> torch.Tensor:
    count, heads, size = q.shape
    shape = (count, -1, heads // group, size)
    k = k_pages.index_select(0, together.pages).view(shape).transpose(1, 2)
    v = v_pages.index_select(0, together.pages).view(shape).transpose(1, 2)
    found = scaled_dot_product_attention(
        q.view(count, heads // group, group, size), k, v, attn_mask=together.mask, scale=scale
    )
    return found.reshape(count, heads, size)
