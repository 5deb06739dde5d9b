"""The next token from its logits, greedily or at a temperature: the definition."""

from __future__ import annotations

import torch
from torch import Tensor


def sample(logits: Tensor, temperatures: Tensor, noise: Tensor | None = None) -> Tensor:
    """One token for each row of ``logits`` [B, V]: int64 [B].

    A row of temperature 0 takes the largest logit, the lowest id among equals. Any other row takes the first token at
    which the cumulated probabilities of ``softmax(logits / temperature)`` exceed its ``noise`` [B], a uniform number
    in [0, 1): equal noise and equal logits give the same token, so that two runs can share their luck.

    Raises ValueError where a temperature is above 0 and no noise is given.
    """
    tokens = logits.argmax(-1)
    warm = temperatures > 0
    if not bool(warm.any()):
        return tokens
    if noise is None:
        raise ValueError("a temperature above 0 needs a uniform number for each row")
    rows = warm.nonzero().squeeze(-1)
    scaled = logits.index_select(0, rows).double() / temperatures.index_select(0, rows).double().unsqueeze(-1)
    cumulated = (scaled - scaled.amax(-1, keepdim=True)).exp_().cumsum(-1)
    threshold = noise.index_select(0, rows).double().unsqueeze(-1) * cumulated[:, -1:]
    drawn = torch.searchsorted(cumulated, threshold, right=True).squeeze(-1)
    tokens[rows] = drawn.clamp_(max=logits.shape[-1] - 1)
    return tokens
