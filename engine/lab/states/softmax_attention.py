"""Softmax attention over kept records: the calculation that most states share."""

from __future__ import annotations

import torch
from torch import Tensor


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    query_positions: Tensor,
    key_positions: Tensor,
    window: int | None = None,
    causal: bool = True,
) -> Tensor:
    """Read records [S, Hkv, D] with queries [T, Hq, D]: [T, Hq, Dv].

    A query reads records at its own position and before, of the last ``window`` positions (its own counts) where there
    is a window. Query heads share K/V heads in equal groups.
    """
    repeat = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1)
    scores = torch.einsum("thd,shd->hts", queries, keys) / queries.shape[-1] ** 0.5
    if causal:
        distance = query_positions[:, None] - key_positions[None, :]
        hidden = distance < 0
        if window is not None:
            hidden |= distance >= window
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.einsum("hts,shd->thd", torch.softmax(scores, -1), values)
