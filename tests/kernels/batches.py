"""Random batches for paged attention, and attention written out token by token in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """The arguments of paged attention, with NaN wherever no sequence has a key."""

    q: Tensor
    k_pages: Tensor
    v_pages: Tensor
    block_tables: Tensor
    q_starts: Tensor
    kv_lengths: Tensor
    scale: float

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        return self.q, self.k_pages, self.v_pages, self.block_tables, self.q_starts, self.kv_lengths

    def poisoned(self) -> Tensor:
        """Room for the result, full of NaN: a row that nothing wrote would show."""
        return torch.full_like(self.q, float("nan"))


def random_batch(
    queries: list[int],
    keys: list[int],
    *,
    kv_heads: int = 2,
    group: int = 2,
    size: int = 16,
    page: int = 16,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """Sequences with so many queries each, and keys; pages in a random order, with unused ones among them.

    Block tables are wider than needed, and what stands behind a sequence's last page is no page's number.
    """
    needed = [-(-count // page) for count in keys]
    columns = max([*needed, 1]) + 1
    pages = sum(needed) + 3
    order = iter(torch.randperm(pages).tolist())
    tables = torch.full((len(keys), columns), 2**30, dtype=torch.int32)
    k_pages = torch.full((pages, page, kv_heads, size), float("nan"), dtype=dtype)
    v_pages = k_pages.clone()
    for b, count in enumerate(keys):
        for column in range(needed[b]):
            number = next(order)
            tables[b, column] = number
            filled = min(page, count - column * page)
            k_pages[number, :filled] = torch.randn(filled, kv_heads, size).to(dtype)
            v_pages[number, :filled] = torch.randn(filled, kv_heads, size).to(dtype)
    starts = torch.tensor([0, *queries]).cumsum(0).to(torch.int32)
    q = torch.randn(int(starts[-1]), kv_heads * group, size).to(dtype)
    return Batch(q, k_pages, v_pages, tables, starts, torch.tensor(keys, dtype=torch.int32), size**-0.5)


def expected(batch: Batch, window: int | None = None) -> Tensor:
    """Attention by its definition, one query and one head at a time, in float64."""
    q, k_pages, v_pages = batch.q.double(), batch.k_pages.double(), batch.v_pages.double()
    page, kv_heads = k_pages.shape[1], k_pages.shape[2]
    result = torch.zeros_like(q)
    for b, length in enumerate(batch.kv_lengths.tolist()):
        start, stop = batch.q_starts[b : b + 2].tolist()
        for row in range(start, stop):
            own = length - (stop - row)
            first = 0 if window is None else max(0, own - window + 1)
            places = [(int(batch.block_tables[b, p // page]), p % page) for p in range(first, own + 1)]
            if not places:
                continue
            for head in range(q.shape[1]):
                kv_head = head // (q.shape[1] // kv_heads)
                k = torch.stack([k_pages[number, offset, kv_head] for number, offset in places])
                v = torch.stack([v_pages[number, offset, kv_head] for number, offset in places])
                result[row, head] = torch.softmax(k @ q[row, head] * batch.scale, 0) @ v
    return result


TOLERANCES: dict[torch.dtype, float] = {
    torch.float64: 1e-13,
    torch.float32: 5e-6,
    torch.bfloat16: 4e-2,
    torch.float16: 4e-3,
}


def check(result: Tensor, truth: Tensor, **named: Any) -> None:
    """Equal within the rounding of the result's type; NaN is never equal."""
    tolerance = TOLERANCES[result.dtype]
    torch.testing.assert_close(result.double(), truth, rtol=tolerance, atol=tolerance, **named)
